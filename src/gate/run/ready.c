/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that has started the gate is told once it serves. */
#include "run/serve_priv.h"

#include "base/log.h"
#include "json/doc.h"

#include <unistd.h>

/* Writes {"listen":["127.0.0.1:40001"]} for the parent process, which may have let the kernel choose the ports. */
enum code serve__report_ready(struct serve *serve, int ready_fd)
{
    struct doc *doc = doc_object();
    struct doc *listens = doc_add_array(doc, "listen");
    struct buf line;
    enum code code;

    buf_init(&line, 65536);
    for (size_t i = 0; i < serve->conf->proxy->listen_count; i++) {
        struct sock_address address;
        char text[SOCK_TEXT_BYTES];

        if (serve->conf->proxy->listens[i].socket != NULL) {
            doc_text(doc, "pipes", span_text(serve->conf->proxy->listens[i].socket));
            log_info("app", "listening on %s", serve->conf->proxy->listens[i].socket);
            continue;
        }
        proxy_address(serve->proxy, i, &address);
        sock_text(&address, text);
        doc_text(listens, NULL, span_text(text));
        log_info("app", "listening on %s", text);
    }
    if (serve->admin != NULL) {
        struct sock_address address;
        char text[SOCK_TEXT_BYTES];

        admin_address(serve->admin, &address);
        sock_text(&address, text);
        doc_text(doc, "admin", span_text(text));
    }
    code = doc_print(doc, &line);
    if (code == CODE_OK)
        code = buf_add_byte(&line, '\n');
    if (code == CODE_OK && ready_fd > 0 && write(ready_fd, buf_peek(&line).at, buf_len(&line)) != (ssize_t)buf_len(&line))
        code = CODE_IO;
    if (ready_fd > 0) /* in any case, since the gate goes on where this fails, and who has started it would wait for its end */
        close(ready_fd);
    buf_fini(&line);
    doc_free(&doc);
    return code;
}
