/* SPDX-License-Identifier: Apache-2.0 */
#include "run/serve_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/file.h"
#include "os/process.h"
#include "os/sandbox.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PEM_BYTES 4096

static enum code make_key(const char *path, struct why *why)
{
    struct buf pem;
    enum code code;

    buf_init(&pem, PEM_BYTES);
    code = sign_key_make(&pem);
    if (code == CODE_OK)
        code = file_create(path, 0600, buf_peek(&pem), why);
    else
        why_set(why, code, "%s cannot be made: %s", path, code_text(code));
    mem_wipe(pem.block, pem.size);
    buf_fini(&pem);
    return code == CODE_EXISTS ? CODE_OK : code;
}

enum code serve_checkpoint_key(const char *path, bool may_make, struct sign_key **key, struct why *why)
{
    struct buf pem;
    enum code code;

    *key = NULL;
    buf_init(&pem, PEM_BYTES);
    code = file_read(path, FILE_SECRET, PEM_BYTES, &pem, why);
    if (code == CODE_NOT_FOUND && may_make) {
        code = make_key(path, why);
        if (code == CODE_OK)
            code = file_read(path, FILE_SECRET, PEM_BYTES, &pem, why);
    }
    if (code == CODE_OK && sign_key_read(buf_peek(&pem), key) != CODE_OK)
        code = why_set(why, CODE_INVALID, "%s holds no Ed25519 key; `openssl genpkey -algorithm ed25519` makes one, or remove "
                       "it, and the gate makes another", path);
    mem_wipe(pem.block, pem.size);
    buf_fini(&pem);
    return code;
}

/* Runs in a process of its own, which keeps nothing of what the gate knows. It reads its key, and confines itself. */
static void run_signer(void *context, int end)
{
    struct serve *serve = context;
    char *path = mem_dup(serve->conf->audit.checkpoint_key, strlen(serve->conf->audit.checkpoint_key));
    bool is_unconfined = serve->conf->is_unconfined;
    unsigned char warm[SIGN_BYTES];
    struct sign_key *key = NULL;
    struct why why = {""};
    enum code code = CODE_NOMEM;

    conf_free(&serve->conf); /* credentials and keys go with it */
    if (path != NULL)
        code = serve_checkpoint_key(path, true, &key, &why);
    if (code == CODE_OK)
        code = sign_text(key, SPAN_LIT("what the library still has to load"), warm);
    if (code == CODE_OK && !is_unconfined)
        code = sandbox_harden(&why);
    if (code == CODE_OK && !is_unconfined)
        code = sandbox_enter(&why);
    if (code == CODE_OK && !is_unconfined)
        sandbox_narrow(SANDBOX_SIGNER);
    if (code != CODE_OK)
        sign_key_free(&key);
    signer_serve(end, key, &why);
}

enum code serve__start_signer(struct serve *serve, struct why *why)
{
    int end;
    enum code code = process_beside(&(struct process_beside){"signer", run_signer, serve, .is_family = false}, &end, why);

    return code == CODE_OK ? signer_new(end, &serve->signer, why) : code;
}

char *serve_public_key_path(const char *path)
{
    size_t len = strlen(path);
    char *out = mem_alloc(len + sizeof ".pub");

    if (len > 4 && strcmp(path + len - 4, ".pem") == 0)
        len -= 4;
    if (out != NULL)
        (void)snprintf(out, len + sizeof ".pub", "%.*s.pub", (int)len, path);
    return out;
}

/* Writes the public key beside its own. The log and an event have it too, so a folder that cannot be
 * written is no reason not to start. */
static enum code write_public(const struct serve *serve, struct span vkey)
{
    struct why why = {""};
    char *path = serve_public_key_path(serve->conf->audit.checkpoint_key);
    struct buf text, there;
    enum code code = path != NULL ? CODE_OK : CODE_NOMEM;

    buf_init(&text, PEM_BYTES);
    buf_init(&there, PEM_BYTES);
    if (code == CODE_OK)
        code = buf_addf(&text, "%.*s\n", SPAN_ARG(vkey));
    if (code == CODE_OK)
        code = sign_public_write(signer_public(serve->signer), &text);
    if (code == CODE_OK && file_read(path, FILE_ANY, PEM_BYTES, &there, NULL) == CODE_OK &&
        !span_equals(buf_peek(&there), buf_peek(&text)))
        (void)unlink(path); /* the old file is of another key, or of another log */
    if (code == CODE_OK)
        code = file_create(path, 0644, buf_peek(&text), &why);
    if (code != CODE_OK && code != CODE_EXISTS && why.text[0] != '\0')
        log_warn("audit", "%s", why.text);
    if (path != NULL)
        log_info("audit", "checkpoints are signed with %.*s; whoever has that key, as in %s, can verify them", SPAN_ARG(vkey),
                 path);
    buf_fini(&there);
    buf_fini(&text);
    mem_free(path);
    return code == CODE_NOMEM ? code : CODE_OK;
}

enum code serve__publish_checkpoint_key(const struct serve *serve, struct why *why)
{
    struct buf vkey;
    enum code code;

    buf_init(&vkey, PEM_BYTES);
    code = audit_checkpoint_key(serve->audit, &vkey);
    if (code == CODE_OK)
        code = write_public(serve, buf_peek(&vkey));
    buf_fini(&vkey);
    if (code != CODE_OK && why->text[0] == '\0')
        why_set(why, code, "the key of checkpoints cannot be told: %s", code_text(code));
    return code;
}
