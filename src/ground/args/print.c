/* SPDX-License-Identifier: Apache-2.0 */
#include "args/print.h"

#include "base/mem.h"
#include "os/clock.h"
#include "unicode/terminal.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define UNWRITTEN "the output cannot be written"

/* Appends the text with its line ends escaped, but for those that the format itself has. The twin is the same text, made
 * from the format with a tab in place of each line end. So where text and twin differ, the line end is the format's. */
static enum code add_but_ends(struct buf *safe, struct span text, const char *twin)
{
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == twin[i])
            continue;
        terminal_add(safe, span_part(text, from, i - from));
        buf_add_byte(safe, '\n');
        from = i + 1;
    }
    return terminal_add(safe, span_part(text, from, SIZE_MAX));
}

static void print_safely_v(FILE *out, const char *format, va_list args)
{
    char *twin_format = mem_dup(format, strlen(format)), *text = NULL, *twin = NULL;
    va_list again, measured;
    struct buf safe;
    int len;

    va_copy(again, args);
    va_copy(measured, args);
    buf_init(&safe, SIZE_MAX / 2);
    len = vsnprintf(NULL, 0, format, measured);
    if (len >= 0 && twin_format != NULL && (text = mem_array(2, (size_t)len + 1)) != NULL) {
        twin = text + len + 1;
        for (char *end = twin_format; (end = strchr(end, '\n')) != NULL;)
            *end = '\t';
        (void)vsnprintf(text, (size_t)len + 1, format, args);
        (void)vsnprintf(twin, (size_t)len + 1, twin_format, again);
    }
    if (twin != NULL && add_but_ends(&safe, span_of(text, (size_t)len), twin) == CODE_OK)
        (void)print_block(out, buf_peek(&safe));
    else
        fputs("(not enough memory to say it)", out);
    va_end(again);
    va_end(measured);
    if (text != NULL)
        mem_wipe(text, 2 * ((size_t)len + 1)); /* a new key is printed this way */
    mem_free(text);
    mem_free(twin_format);
    mem_wipe(safe.block, safe.size);
    buf_fini(&safe);
}

void print_safely(FILE *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_safely_v(out, format, args);
    va_end(args);
}

void print_span(FILE *out, struct span text)
{
    struct buf safe;

    buf_init(&safe, SIZE_MAX / 2);
    if (terminal_add(&safe, text) == CODE_OK)
        (void)print_block(out, buf_peek(&safe));
    else
        fputs("(too long to be shown)", out);
    buf_fini(&safe);
}

void print_lines(FILE *out, struct span text)
{
    while (text.len > 0) {
        print_span(out, span_cut(text, '\n', &text));
        putc('\n', out);
    }
}

enum code print_block(FILE *out, struct span bytes)
{
    return bytes.len == 0 || fwrite(bytes.at, 1, bytes.len, out) == bytes.len ? CODE_OK : CODE_IO;
}

enum code print_source(struct span text)
{
    enum code code;

    if (isatty(STDOUT_FILENO) == 1) {
        print_lines(stdout, text);
        return CODE_OK;
    }
    code = print_block(stdout, text);
    if (text.len == 0 || text.at[text.len - 1] != '\n')
        putchar('\n');
    return code;
}

static bool fails_in_json;

void print_failures_as_json(bool wanted)
{
    fails_in_json = wanted;
}

/* Prints the document as one line and frees it. */
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

/* One line on stderr, `callgate: text`. */
static void print_failure(int status, const char *format, va_list args)
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
        print_safely(stderr, "callgate: %s\n", text); /* without memory for JSON, the bare text is better than nothing */
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

/* "callgate.yaml cannot be opened: ..." */
static bool names_file(const struct fault *fault)
{
    struct span text = span_text(fault->text), file = span_text(fault->file);

    return span_starts_with(text, file) && text.len > file.len && text.at[file.len] == ' ';
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
        else if (names_file(fault))
            print_safely(stderr, "%s%s", before, fault->text);
        else
            print_safely(stderr, "%s: %s%s", fault->file, before, fault->text);
        fputc('\n', stderr);
    }
    if (faults->count > told && !fails_in_json)
        fprintf(stderr, "%sand %zu more\n", before, faults->count - told);
}

void print_number(struct doc *doc, const char *key, int64_t number)
{
    if (number == 0)
        doc_null(doc, key);
    else
        doc_int(doc, key, number);
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
    static char *buffer; /* stdout uses it until the program ends; pages that are never written take no memory */

    if (buffer == NULL && (buffer = mem_array(HOLD_BYTES, 1)) != NULL)
        (void)setvbuf(stdout, buffer, _IOFBF, HOLD_BYTES);
}

int complain(enum exit_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_failure((int)status, format, args);
    va_end(args);
    return (int)status;
}

int complain_why(enum code code, const struct why *why)
{
    const char *text = why->text[0] != '\0' ? why->text : code_text(code);

    return complain(code == CODE_INVALID ? STATUS_USAGE : STATUS_CANNOT, "%s", text);
}

bool print_is_unread(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};

    return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

int complain_code(enum code code)
{
    if (code == CODE_OK || (code == CODE_IO && print_is_unread()))
        return STATUS_DONE;
    return complain(STATUS_CANNOT, "%s", code == CODE_IO && ferror(stdout) ? UNWRITTEN : code_text(code));
}

int print_end(int status)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;

    if (!failed || status == STATUS_USAGE || status == STATUS_CANNOT || print_is_unread())
        return status;
    return complain(STATUS_CANNOT, UNWRITTEN);
}

int complain_faults(const struct faults *faults)
{
    print_faults(faults, "");
    return STATUS_USAGE;
}

enum code why_of_faults(struct why *why, enum code code, const struct faults *faults)
{
    const struct fault *first = &faults->fault[0];

    if (faults->count == 0)
        return why_set(why, code, "%s", code_text(code));
    if (first->line == 0)
        return why_set(why, code, "%s", first->text);
    return why_set(why, code, "%s:%d:%d: %s", first->file, first->line, first->column, first->text);
}

int print_doc(struct doc **doc)
{
    return print_line(stdout, doc) == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "not enough memory");
}
