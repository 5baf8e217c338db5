/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/member.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/secret.h"
#include "json/text.h"
#include "os/file.h"

#include <inttypes.h>
#include <string.h>

/* ---- what both files have ---- */

static const struct { const char *name; size_t at; } secret_names[] = {
    {"session", offsetof(struct fleet_secrets, session)},
    {"approval", offsetof(struct fleet_secrets, approval)},
    {"redact", offsetof(struct fleet_secrets, redact)},
    {"seal", offsetof(struct fleet_secrets, seal)},
};

static enum code read_fleet(const struct json_node *root, char fleet[FLEET_ID_BYTES + 1])
{
    struct span id = json_member_text(root, "fleet");
    const struct json_node *format = json_member(root, SPAN_LIT("format"));

    if (format == NULL || !span_is(format->raw, "1") || id.len != FLEET_ID_BYTES || !ascii_is_all(id, "0-9a-f"))
        return CODE_INVALID;
    memcpy(fleet, id.at, id.len);
    return CODE_OK;
}

static enum code read_text(const struct json_node *root, const char *name, char **text)
{
    struct span value = json_member_text(root, name);

    if (value.len == 0)
        return CODE_INVALID;
    *text = mem_dup(value.at, value.len);
    return *text != NULL ? CODE_OK : CODE_NOMEM;
}

static enum code read_secrets(const struct json_node *root, struct fleet_secrets **secrets)
{
    const struct json_node *object = json_member(root, SPAN_LIT("secrets"));

    if (object == NULL || object->type != JSON_OBJECT)
        return CODE_INVALID;
    *secrets = secret_new(sizeof **secrets);
    if (*secrets == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++)
        if (num_unhex(json_member_text(object, secret_names[i].name), (char *)*secrets + secret_names[i].at,
                      FLEET_SECRET_BYTES) != CODE_OK)
            return CODE_INVALID;
    return CODE_OK;
}

static enum code read_key(const struct json_node *root, const char *name, unsigned char seed[SIGN_SEED_BYTES],
                          struct sign_key **key)
{
    if (num_unhex(json_member_text(root, name), seed, SIGN_SEED_BYTES) != CODE_OK)
        return CODE_INVALID;
    return sign_key_of_seed(seed, key);
}

static void write_hex(struct buf *text, const char *before, const void *bytes, size_t len)
{
    char digit[2];

    (void)buf_addf(text, "%s\"", before);
    for (size_t i = 0; i < len; i++) {
        num_hex((const char *)bytes + i, 1, digit);
        (void)buf_add(text, digit, sizeof digit);
    }
    (void)buf_add_text(text, "\"");
}

static void write_secrets(struct buf *text, const struct fleet_secrets *secrets)
{
    (void)buf_add_text(text, ",\n \"secrets\": {");
    for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++) {
        (void)buf_addf(text, "%s\"%s\": ", i > 0 ? ", " : "", secret_names[i].name);
        write_hex(text, "", (const char *)secrets + secret_names[i].at, FLEET_SECRET_BYTES);
    }
    (void)buf_add_text(text, "}}\n");
}

static enum code told(struct why *why, enum code code, const char *what)
{
    if (code == CODE_OK || (why != NULL && why->text[0] != '\0'))
        return code;
    return why_set(why, code, code == CODE_INVALID ? "is no %s of a version that this one knows" : "the %s cannot be read",
                   what);
}

/* ---- a node's ---- */

static enum code read_roster(const struct json_node *root, struct member *member, struct why *why)
{
    const struct json_node *object = json_member(root, SPAN_LIT("roster"));
    struct span text = object != NULL ? json_member_text(object, "text") : SPAN_NONE;

    if (text.len == 0 ||
        num_unhex(json_member_text(object, "signature"), member->roster_signature, SIGN_BYTES) != CODE_OK)
        return CODE_INVALID;
    (void)buf_add_span(&member->roster_text, text);
    if (buf_code(&member->roster_text) != CODE_OK)
        return buf_code(&member->roster_text);
    return roster_read(text, span_of(member->roster_signature, SIGN_BYTES), member->root, member->fleet, &member->roster, why);
}

/* Whether the roster has this node, by this key. */
static enum code check_node(const struct member *member, struct why *why)
{
    const struct roster_node *node = roster_find(member->roster, span_text(member->name));
    unsigned char key[SIGN_PUBLIC_BYTES];

    if (sign_key_public(member->key, key) != CODE_OK)
        return CODE_NOMEM;
    return node != NULL && memcmp(node->key, key, sizeof key) == 0
               ? CODE_OK
               : why_set(why, CODE_DENIED, "its roster does not have the node %s by this key; make it anew by `callgate fleet "
                                           "join`", member->name);
}

static enum code read_member(const struct json_node *root, struct member *member, struct why *why)
{
    struct span name = json_member_text(root, "name");
    enum code code = read_fleet(root, member->fleet);

    if (code == CODE_OK && !fleet_name_is_good(name))
        code = CODE_INVALID;
    if (code == CODE_OK)
        memcpy(member->name, name.at, name.len);
    if (code == CODE_OK)
        code = read_text(root, "database", &member->database);
    if (code == CODE_OK)
        code = read_text(root, "role", &member->role);
    if (code == CODE_OK)
        code = read_text(root, "password", &member->password);
    if (code == CODE_OK)
        code = num_unhex(json_member_text(root, "root"), member->root, sizeof member->root);
    member->is_reader = code == CODE_OK && json_member(root, SPAN_LIT("node_key")) == NULL;
    if (code != CODE_OK || member->is_reader)
        return code;
    code = read_key(root, "node_key", member->seed, &member->key);
    if (code == CODE_OK)
        code = read_roster(root, member, why);
    if (code == CODE_OK)
        code = check_node(member, why);
    return code == CODE_OK ? read_secrets(root, &member->secrets) : code;
}

enum code member_read_text(struct span text, struct member *member, struct why *why)
{
    struct json_text json = {0};
    enum code code = json_text_read(&json, text, &json_file_rules, MEMBER_FILE_BYTES);

    buf_init(&member->roster_text, ROSTER_TEXT_BYTES);
    if (code == CODE_OK)
        code = read_member(json.root, member, why);
    json_text_fini(&json);
    return told(why, code, "membership of a fleet");
}

enum code member_write(const struct member *member, struct buf *text)
{
    (void)buf_addf(text, "{\"format\": 1, \"fleet\": \"%s\", \"name\": \"%s\",\n \"database\": ", member->fleet, member->name);
    (void)json_write_string(text, span_text(member->database));
    (void)buf_add_text(text, ",\n \"role\": ");
    (void)json_write_string(text, span_text(member->role));
    (void)buf_add_text(text, ", \"password\": ");
    (void)json_write_string(text, span_text(member->password));
    write_hex(text, ",\n \"root\": ", member->root, sizeof member->root);
    if (member->is_reader) {
        (void)buf_add_text(text, "}\n");
        return buf_code(text);
    }
    write_hex(text, ",\n \"node_key\": ", member->seed, sizeof member->seed);
    (void)buf_add_text(text, ",\n \"roster\": {\"text\": ");
    (void)json_write_string(text, buf_peek(&member->roster_text));
    write_hex(text, ", \"signature\": ", member->roster_signature, SIGN_BYTES);
    (void)buf_add_text(text, "}");
    write_secrets(text, member->secrets);
    return buf_code(text);
}

static void free_secret_text(char **text)
{
    if (*text != NULL)
        mem_wipe(*text, strlen(*text));
    mem_free(*text);
    *text = NULL;
}

void member_free(struct member **member)
{
    if (*member == NULL)
        return;
    mem_free((*member)->folder);
    mem_free((*member)->database);
    mem_free((*member)->role);
    free_secret_text(&(*member)->password);
    sign_key_free(&(*member)->key);
    roster_free(&(*member)->roster);
    buf_fini(&(*member)->roster_text);
    secret_free((*member)->secrets, sizeof *(*member)->secrets);
    secret_free(*member, sizeof **member);
    *member = NULL;
}

/* The folder of a path, as far as it is named. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? mem_dup(".", 1) : mem_dup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Reads a file that nobody else may read, whole. Takes: bytes: which wipes. */
static enum code read_file(const char *path, struct buf *bytes, struct why *why)
{
    buf_init(bytes, MEMBER_FILE_BYTES);
    buf_wipes(bytes);
    return file_read(path, FILE_SECRET, MEMBER_FILE_BYTES, bytes, why);
}

enum code member_read(const char *path, struct member **out, struct why *why)
{
    struct member *member = secret_new(sizeof *member);
    struct buf bytes;
    enum code code = member == NULL ? why_set(why, CODE_NOMEM, "%s: not enough memory", path) : CODE_OK;

    *out = NULL;
    if (code != CODE_OK)
        return code;
    code = read_file(path, &bytes, why);
    if (code == CODE_OK) {
        struct why said = {0};

        code = member_read_text(buf_peek(&bytes), member, &said);
        member->folder = code == CODE_OK ? folder_of(path) : NULL;
        if (code == CODE_OK && member->folder == NULL)
            code = why_set(&said, CODE_NOMEM, "not enough memory");
        if (code != CODE_OK)
            code = why_set(why, code, "%s: %s", path, said.text);
    }
    buf_fini(&bytes);
    if (code != CODE_OK)
        member_free(&member);
    *out = member;
    return code;
}

/* ---- the fleet's key ---- */

static enum code read_fleet_key(const struct json_node *root, struct fleet_key *key)
{
    enum code code = read_fleet(root, key->fleet);

    if (code == CODE_OK)
        code = read_text(root, "database", &key->database);
    if (code == CODE_OK)
        code = read_key(root, "root_key", key->seed, &key->root);
    if (code == CODE_OK)
        code = sign_key_public(key->root, key->root_public);
    if (code == CODE_OK && !json_member_number(root, "roster", 0, INT64_MAX, &key->roster))
        code = CODE_INVALID;
    return code == CODE_OK ? read_secrets(root, &key->secrets) : code;
}

enum code fleet_key_read_text(struct span text, struct fleet_key *key, struct why *why)
{
    struct json_text json = {0};
    enum code code = json_text_read(&json, text, &json_file_rules, MEMBER_FILE_BYTES);

    if (code == CODE_OK)
        code = read_fleet_key(json.root, key);
    json_text_fini(&json);
    return told(why, code, "key of a fleet, as `callgate fleet init` makes it,");
}

enum code fleet_key_write(const struct fleet_key *key, struct buf *text)
{
    (void)buf_addf(text, "{\"format\": 1, \"fleet\": \"%s\",\n \"database\": ", key->fleet);
    (void)json_write_string(text, span_text(key->database));
    (void)buf_addf(text, ",\n \"roster\": %" PRId64, key->roster);
    write_hex(text, ",\n \"root_key\": ", key->seed, sizeof key->seed);
    write_secrets(text, key->secrets);
    return buf_code(text);
}

void fleet_key_free(struct fleet_key **key)
{
    if (*key == NULL)
        return;
    mem_free((*key)->database);
    sign_key_free(&(*key)->root);
    secret_free((*key)->secrets, sizeof *(*key)->secrets);
    secret_free(*key, sizeof **key);
    *key = NULL;
}

enum code fleet_key_read(const char *path, struct fleet_key **out, struct why *why)
{
    struct fleet_key *key = secret_new(sizeof *key);
    struct buf bytes;
    enum code code = key == NULL ? why_set(why, CODE_NOMEM, "%s: not enough memory", path) : CODE_OK;

    *out = NULL;
    if (code != CODE_OK)
        return code;
    code = read_file(path, &bytes, why);
    if (code == CODE_OK) {
        struct why said = {0};

        code = fleet_key_read_text(buf_peek(&bytes), key, &said);
        if (code != CODE_OK)
            code = why_set(why, code, "%s: %s", path, said.text);
    }
    buf_fini(&bytes);
    if (code != CODE_OK)
        fleet_key_free(&key);
    *out = key;
    return code;
}

/* ---- the centre's schema ---- */

#define MAJOR 100

enum code fleet_schema_fits(int64_t number, struct why *why)
{
    if (number < FLEET_SCHEMA)
        return why_set(why, CODE_INVALID, "the centre's schema is number %" PRId64 ", and this callgate needs %d: run "
                       "`callgate fleet upgrade`; until then this node ships nothing, and goes on with what it has as while "
                       "the centre is away", number, FLEET_SCHEMA);
    if (number / MAJOR != FLEET_SCHEMA / MAJOR)
        return why_set(why, CODE_INVALID, "the centre's schema is number %" PRId64 ", and this callgate goes on with %d to %d: "
                       "upgrade this callgate", number, FLEET_SCHEMA, FLEET_SCHEMA / MAJOR * MAJOR + MAJOR - 1);
    return CODE_OK;
}
