/* SPDX-License-Identifier: Apache-2.0 */
#include "app/print.h"

#include "app/command.h"
#include "base/mem.h"
#include "os/clock.h"
#include "unicode/terminal.h"

#include <string.h>

static void print_safely_v(FILE *out, const char *format, va_list args)
{
    va_list again;
    size_t end = strlen(format);
    bool is_line = end > 0 && format[end - 1] == '\n'; /* ours, not one of what others wrote */
    struct buf safe;
    char *text = NULL;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    buf_init(&safe, SIZE_MAX / 2);
    if (len >= 0)
        text = mem_alloc((size_t)len + 1);
    if (text != NULL && vsnprintf(text, (size_t)len + 1, format, args) == len &&
        terminal_add(&safe, span_of(text, (size_t)len - is_line)) == CODE_OK &&
        (!is_line || buf_add_byte(&safe, '\n') == CODE_OK))
        (void)fwrite(buf_peek(&safe).at, 1, buf_len(&safe), out);
    else
        fputs("(not enough memory to say it)", out);
    mem_free(text);
    buf_fini(&safe);
}

void print_safely(FILE *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_safely_v(out, format, args);
    va_end(args);
}

static bool fails_in_json;

void print_failures_as_json(bool wanted)
{
    fails_in_json = wanted;
}

/* One line; frees the document. */
static enum code print_line(FILE *to, struct doc **doc)
{
    struct buf out, safe;
    enum code code;

    buf_init(&out, SIZE_MAX / 2);
    buf_init(&safe, SIZE_MAX / 2);
    code = doc_print(*doc, &out);
    if (code == CODE_OK)
        code = terminal_add(&safe, buf_peek(&out));
    if (code == CODE_OK)
        fprintf(to, "%.*s\n", SPAN_ARG(buf_peek(&safe)));
    mem_wipe(out.block, out.size);
    mem_wipe(safe.block, safe.size);
    buf_fini(&out);
    buf_fini(&safe);
    doc_free(doc);
    return code;
}

void print_failure(int status, const char *format, va_list args)
{
    struct doc *doc;
    char text[4096];

    if (!fails_in_json) {
        fputs("callgate: ", stderr);
        print_safely_v(stderr, format, args);
        fputc('\n', stderr);
        return;
    }
    (void)vsnprintf(text, sizeof text, format, args);
    doc = doc_object();
    doc_text(doc, "error", span_text(text));
    doc_int(doc, "status", status);
    if (print_line(stderr, &doc) != CODE_OK)
        print_safely(stderr, "callgate: %s\n", text); /* the bare text says more than nothing */
}

static void print_fault_doc(const struct fault *fault, bool is_warning)
{
    struct doc *doc = doc_object();

    doc_text(doc, is_warning ? "warning" : "error", span_text(fault->text));
    doc_text(doc, "file", span_text(fault->file));
    if (fault->line > 0) {
        doc_int(doc, "line", fault->line);
        doc_int(doc, "column", fault->column);
    }
    if (print_line(stderr, &doc) != CODE_OK)
        print_safely(stderr, "callgate: %s\n", fault->text);
}

void print_faults(const struct faults *faults, const char *before)
{
    size_t told = faults->count < FAULTS_MAX ? faults->count : FAULTS_MAX;

    for (size_t i = 0; i < told; i++) {
        const struct fault *fault = &faults->fault[i];

        if (fails_in_json) {
            print_fault_doc(fault, before[0] != '\0');
            continue;
        }
        if (fault->line > 0)
            print_safely(stderr, "%s:%d:%d: %s%s", fault->file, fault->line, fault->column, before, fault->text);
        else
            print_safely(stderr, "%s: %s%s", fault->file, before, fault->text);
        fputc('\n', stderr);
    }
    if (faults->count > told && !fails_in_json)
        fprintf(stderr, "%sand %zu more\n", before, faults->count - told);
}

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

#define HOLD_BYTES ((size_t)32 << 20)

void print_hold(void)
{
    static char *buffer; /* stdout's to the end; pages that nothing is written to take no memory */

    if (buffer == NULL && (buffer = mem_array(HOLD_BYTES, 1)) != NULL)
        (void)setvbuf(stdout, buffer, _IOFBF, HOLD_BYTES);
}

int print_doc(struct doc **doc)
{
    return print_line(stdout, doc) == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "not enough memory");
}
