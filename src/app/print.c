/* SPDX-License-Identifier: Apache-2.0 */
#include "app/print.h"

#include "app/command.h"
#include "base/mem.h"
#include "os/clock.h"

#include <stdio.h>

void print_time(struct doc *doc, const char *key, int64_t time_us)
{
    char text[CLOCK_TEXT_BYTES];

    if (time_us == 0) {
        doc_null(doc, key);
        return;
    }
    clock_text(time_us, text);
    doc_text(doc, key, span_text(text));
}

int print_doc(struct doc **doc)
{
    struct buf out;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    code = doc_print(*doc, &out);
    if (code == CODE_OK)
        printf("%.*s\n", SPAN_ARG(buf_peek(&out)));
    mem_wipe(out.block, out.size);
    buf_fini(&out);
    doc_free(doc);
    return code == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "not enough memory");
}
