/* SPDX-License-Identifier: Apache-2.0 */
/* 9.7: how fast texts are searched by detectors, in arguments and in answers, as MB/s of one core; and what no rule
 * costs.
 *
 * usage: bench_detect [ROUNDS]      in the folder of the repository: its documents and its detectors are what is searched for and in */
#include "base/mem.h"
#include "os/clock.h"
#include "policy/answer.h"
#include "judgement/judgement.h"
#include "language/language.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 65536
#define FILES_MAX 16
#define TEN "payment_card, iban, email, private_key, jwt, aws_key, github_token, slack_token, stripe_key, password_in_url"

static struct policy_file files[FILES_MAX + 1];
static size_t file_count;

static char *read_file(const char *path, size_t most)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(most + 1);

    if (file == NULL || text == NULL)
        abort();
    text[fread(text, 1, most, file)] = '\0';
    fclose(file);
    return text;
}

/* Letters of base64, by chance: nothing is common in them. */
static char *make_letters(size_t len)
{
    char *text = malloc(len + 1);
    unsigned state = 1;

    if (text == NULL)
        abort();
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525 + 1013904223;
        text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[state >> 26];
    }
    text[len] = '\0';
    return text;
}

/* 64 KiB, as one JSON string in an object. Takes: path: NULL: of letters. */
static struct span document_of(const char *path)
{
    static struct buf out;
    char *text = path != NULL ? read_file(path, TEXT_BYTES) : make_letters(TEXT_BYTES);
    size_t len = strlen(text);

    while (len > 0 && ((unsigned char)text[len] & 0x80) != 0) /* no code point is cut */
        len--;
    buf_init(&out, 1 << 20);
    buf_add_text(&out, "{\"text\":");
    json_write_string(&out, span_of(text, len));
    buf_add_text(&out, "}");
    free(text);
    return buf_peek(&out);
}

/* Nanoseconds a call, the least of the rounds. */
static double measure(const char *rules, const struct json_node *root, bool answer, int rounds)
{
    static struct faults faults;
    static struct verdict verdict;
    static struct answer_verdict said;
    struct question question = {.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                                .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("search"), .root = answer ? NULL : root};
    struct policy_answer given = {.root = root};
    struct policy_scratch *scratch;
    struct policy *policy;
    char text[1024];
    double least = 1e12;

    snprintf(text, sizeof text, "policy: bench\nrules:\n  - {id: p, effect: permit, match: {tools: ['*']}}\n%s", rules);
    files[file_count] = (struct policy_file){SPAN_LIT("bench.yaml"), span_text(text)};
    faults_init(&faults);
    if (policy_compile(files, file_count + 1, 1, &policy, &faults, NULL) != CODE_OK || policy_scratch_new(&scratch) != CODE_OK) {
        fprintf(stderr, "%s\n", faults.count > 0 ? faults.fault[0].text : "no memory");
        exit(1);
    }
    for (int i = 0; i < rounds; i++) {
        int64_t begin = clock_thread_cpu_us();
        int calls = 0;
        double each;

        for (; clock_thread_cpu_us() - begin < 50000; calls++) {
            if (answer)
                policy_judge_answer(policy, &question, &given, true, scratch, &said);
            else
                policy_eval(policy, &question, true, scratch, &verdict);
            if (answer ? said.effect != ANSWER_NONE : verdict.kind != VERDICT_PERMIT)
                abort();
        }
        each = (double)(clock_thread_cpu_us() - begin) * 1000 / calls;
        least = each < least ? each : least;
    }
    policy_scratch_free(&scratch);
    policy_unref(&policy);
    return least;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word, *rules;
        bool answer;
    } ways[] = {
        {"no_rule", "", false},
        {"ten", "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', detect: [" TEN "]}]}\n", false},
        {"ten_decoded", "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', detect: [" TEN "],"
                        " decode: [percent, hex, base64_inside, homoglyph]}]}\n", false},
        {"answer_no_rule", "", true},
        {"answer_ten", "answers:\n  - {id: f, effect: flag, match: {tools: ['*']}, when: [{value: '$..*', detect: [" TEN "]}]}\n",
         true},
    };
    static const char *const texts[][2] = {
        {"prose", "SECURITY.md"}, {"json", "schema/callgate.schema.json"}, {"source", "src/policy/judgement/eval.c"}, {"letters", NULL}};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    glob_t found;

    if (glob("policies/detectors/*.yaml", 0, NULL, &found) != 0 || found.gl_pathc > FILES_MAX)
        abort();
    for (; file_count < found.gl_pathc; file_count++)
        files[file_count] = (struct policy_file){span_text(found.gl_pathv[file_count]),
                                                 span_text(read_file(found.gl_pathv[file_count], 1 << 20))};
    printf("{");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json_node *root;
        struct json_fault fault;
        struct arena arena;
        struct buf out;

        arena_init(&arena, 1 << 20);
        buf_init(&out, 1 << 20);
        if (json_read(document_of(texts[i][1]), &json_request_rules, &out, &arena, &root, &fault) != CODE_OK)
            abort();
        printf("%s\"%s\": {\"bytes\": %zu", i > 0 ? ", " : "", texts[i][0], root->child->text.len);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            double ns = measure(ways[k].rules, root, ways[k].answer, rounds);

            printf(", \"%s_ns\": %.0f, \"%s_mb_s\": %.0f", ways[k].word, ns, ways[k].word, (double)root->child->text.len * 1000 / ns);
        }
        printf("}");
        arena_fini(&arena);
        buf_fini(&out);
    }
    printf("}\n");
    return 0;
}
