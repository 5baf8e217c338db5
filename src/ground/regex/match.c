/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bug.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "regex/regex_priv.h"

#include <pthread.h>

#define MATCH_LIMIT_PRODUCT 20000000u /* limit x length stays inside one budget */
#define MATCH_LIMIT_LEAST 100u
#define MATCH_WORK 8000000u
#define MATCH_WORK_PER_BYTE 16u
#define CALL_WORK 100000000u
#define CALL_CPU_US 18000u       /* of the 20 ms in which judging a call ends */
#define LOOK_EVERY 200000u       /* units of work, about 0.2 ms, between two looks at the clock */
#define CHECK_BYTES (256u << 10) /* bytes of UTF-8 that are checked between two looks at the clock */
#define UNITS_PER_US 1000u
#define SHORT_WORK 16u  /* what a match costs that ends before PCRE2 begins it */
#define REPEAT_FREE 32u /* an item's work covers counts in braces up to this */
#define HEAP_KIB 8192u
#define DEPTH_LIMIT 100000u
#define KEEP_BYTES (128u << 10)

/* What PCRE2 needs to match, kept by thread: making it anew costs more than most matches. */
struct scratch {
    pcre2_match_data *match_data;
    pcre2_match_context *context;
    size_t biggest_bytes; /* the largest block that PCRE2 asked for since the match data was made */
};

/* One match, as the callout sees it. */
struct run {
    const struct regex *regex;
    struct regex_budget *budget;
    uint64_t stop_at; /* the call's work at which this match has had its share */
    size_t position;
    uint64_t search_rate; /* of looking for where a match may begin */
    bool is_ascii;
};

static _Thread_local struct scratch *scratch_here;
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static bool scratch_has_key;

static void free_scratch(void *at)
{
    struct scratch *scratch = at;

    pcre2_match_data_free(scratch->match_data);
    pcre2_match_context_free(scratch->context);
    mem_free(scratch);
    scratch_here = NULL;
}

static void make_key(void)
{
    scratch_has_key = pthread_key_create(&scratch_key, free_scratch) == 0;
}

static void *match_alloc(PCRE2_SIZE bytes, void *at)
{
    struct scratch *scratch = at;

    if (bytes > scratch->biggest_bytes)
        scratch->biggest_bytes = bytes;
    return mem_alloc(bytes);
}

static void match_free(void *block, void *at)
{
    (void)at;
    mem_free(block);
}

static int count_work(pcre2_callout_block *block, void *at);

/* Returns: NULL without memory. What could be made stays for the next try. */
static struct scratch *scratch_get(void)
{
    struct scratch *scratch = scratch_here;
    pcre2_general_context *general;

    if (scratch != NULL && scratch->match_data != NULL && scratch->context != NULL)
        return scratch;
    (void)pthread_once(&scratch_once, make_key);
    if (scratch == NULL) {
        scratch = mem_zalloc(sizeof *scratch);
        if (scratch == NULL)
            return NULL;
        if (!scratch_has_key || pthread_setspecific(scratch_key, scratch) != 0) {
            mem_free(scratch);
            return NULL;
        }
        scratch_here = scratch;
    }
    general = pcre2_general_context_create(match_alloc, match_free, scratch);
    if (general == NULL)
        return NULL;
    if (scratch->match_data == NULL)
        scratch->match_data = pcre2_match_data_create(1 + REGEX_GROUPS_MAX, general);
    if (scratch->context == NULL)
        scratch->context = pcre2_match_context_create(general);
    pcre2_general_context_free(general);
    if (scratch->match_data == NULL || scratch->context == NULL)
        return NULL;
    (void)pcre2_set_heap_limit(scratch->context, HEAP_KIB);
    (void)pcre2_set_depth_limit(scratch->context, DEPTH_LIMIT);
    return scratch;
}

/* A back reference is compared byte by byte, and where that fails no callout sees how far it came. */
static uint64_t captured_bytes(const pcre2_callout_block *block)
{
    uint64_t most = 0;

    for (uint32_t i = 1; i < block->capture_top; i++) {
        PCRE2_SIZE begin = block->offset_vector[2 * i], end = block->offset_vector[2 * i + 1];

        if (begin != PCRE2_UNSET && end != PCRE2_UNSET && end > begin && end - begin > most)
            most = end - begin;
    }
    return most;
}

bool regex_budget_spend(struct regex_budget *budget, uint64_t work)
{
    budget->work += work;
    if (budget->spent || budget->work >= budget->max_work) {
        budget->spent = true;
        return false;
    }
    if (budget->now_us != NULL && budget->work >= budget->look_at) {
        int64_t now_us = budget->now_us();

        if (budget->cpu_until_us == 0)
            budget->cpu_until_us = now_us + CALL_CPU_US + budget->more_us;
        budget->look_at = budget->work + LOOK_EVERY;
        budget->spent = now_us >= budget->cpu_until_us;
        budget->work_until = budget->work + (budget->spent ? 0 : (uint64_t)(budget->cpu_until_us - now_us) * UNITS_PER_US);
    }
    return !budget->spent;
}

/* PCRE2 cannot be stopped within the stretch, so a stretch that might not end in time does not begin. */
static bool has_time_for(struct regex_budget *budget, uint64_t stretch)
{
    if (budget->now_us != NULL && stretch >= LOOK_EVERY && budget->work + stretch > budget->work_until)
        budget->spent = true;
    return !budget->spent;
}

static uint64_t rate_at(const struct run *run, const pcre2_callout_block *block)
{
    uint64_t rate = regex__rate(run->regex, block->pattern_position, block->next_item_length);

    if (rate == REGEX__RATE_ONE)
        return run->search_rate; /* where the item fails, PCRE2 looks for the next start */
    return rate == REGEX__RATE_PLAIN && run->is_ascii ? REGEX__RATE_ASCII : rate;
}

static int count_work(pcre2_callout_block *block, void *at)
{
    struct run *run = at;
    size_t left = block->subject_length - block->current_position;
    uint64_t work = run->regex->item_work;

    if (block->current_position > run->position)
        work += block->current_position - run->position;
    run->position = block->current_position;
    if (run->regex->repeat > REPEAT_FREE)
        work += run->regex->repeat < left ? run->regex->repeat : left;
    if (run->regex->looks_back)
        work += captured_bytes(block);
    if (!regex_budget_spend(run->budget, work) || run->budget->work >= run->stop_at)
        return PCRE2_ERROR_CALLOUT; /* ends the match at once */
    return has_time_for(run->budget, left * rate_at(run, block)) ? 0 : PCRE2_ERROR_CALLOUT;
}

/* Checks UTF-8 here, since PCRE2 would do it in one stretch and would not say whether all is ASCII. */
static bool check_utf8(struct run *run, struct span subject)
{
    size_t at = 0;

    run->is_ascii = true;
    while (at < subject.len) {
        at = utf8_check(subject, at, subject.len - at > CHECK_BYTES ? at + CHECK_BYTES : subject.len, &run->is_ascii);
        if (at == SIZE_MAX)
            return false;
        if (at >= CHECK_BYTES)
            run->budget->look_at = run->budget->work;
        if (!regex_budget_spend(run->budget, 0))
            return false;
    }
    return true;
}

/* Takes: from, last: where a match may begin; the subject is checked already. Leaves the places in the thread's scratch. */
static int match_from(struct run *run, struct span subject, size_t from, size_t last, uint32_t how,
                      const struct regex__limits *limits)
{
    const struct regex *regex = run->regex;
    struct scratch *scratch = scratch_get();

    if (scratch == NULL)
        return PCRE2_ERROR_NOMEMORY;
    run->stop_at = run->budget->work + limits->max_work;
    run->position = from;
    (void)pcre2_set_match_limit(scratch->context, limits->match_limit);
    (void)pcre2_set_callout(scratch->context, count_work, run);
    (void)pcre2_set_offset_limit(scratch->context, last);
    return pcre2_match(run->is_ascii && regex->ascii_code != NULL ? regex->ascii_code : regex->code,
                       (PCRE2_SPTR)(subject.len ? subject.at : ""), subject.len, from, PCRE2_NO_UTF_CHECK | how,
                       scratch->match_data, scratch->context);
}

static enum regex_result result_of(int result)
{
    struct scratch *scratch = scratch_here;

    if (scratch != NULL && scratch->biggest_bytes > KEEP_BYTES) {
        pcre2_match_data_free(scratch->match_data); /* its heap, which grew by one greedy match, goes with it */
        scratch->match_data = NULL;
        scratch->biggest_bytes = 0;
    }
    if (result == PCRE2_ERROR_NOMATCH)
        return REGEX_NO_MATCH;
    /* 0 means that it has more groups than there are places */
    return result >= 0 || result == PCRE2_ERROR_PARTIAL ? REGEX_MATCH : REGEX_UNDECIDED;
}

static enum regex_result match_as(const struct regex *regex, struct span subject, uint32_t how,
                                  const struct regex__limits *limits, struct regex_budget *budget)
{
    struct run run = {.regex = regex, .budget = budget, .search_rate = how & PCRE2_ANCHORED ? 0 : regex->search_rate};

    /* The subject is read once to check its UTF-8 and once to find where a match may begin, at two bytes a unit for both. */
    if (!regex_budget_spend(budget, SHORT_WORK + subject.len / 2) || !check_utf8(&run, subject) ||
        !has_time_for(budget, subject.len * run.search_rate))
        return REGEX_UNDECIDED;
    return result_of(match_from(&run, subject, 0, PCRE2_UNSET, how, limits));
}

enum regex_result regex__match(const struct regex *regex, struct span subject, bool whole,
                               const struct regex__limits *limits, struct regex_budget *budget)
{
    return match_as(regex, subject, whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0, limits, budget);
}

void regex_budget_init(struct regex_budget *budget)
{
    *budget = (struct regex_budget){.max_work = CALL_WORK};
}

void regex_budget_init_timed(struct regex_budget *budget)
{
    regex_budget_init(budget);
    budget->now_us = clock_thread_cpu_us;
    budget->look_at = LOOK_EVERY;
    budget->work_until = CALL_CPU_US * UNITS_PER_US;
}

void regex_budget_init_brief(struct regex_budget *budget)
{
    regex_budget_init_timed(budget);
    budget->max_work = budget->work_until = LOOK_EVERY;
}

void regex_budget_widen(struct regex_budget *budget, uint64_t work)
{
    budget->max_work += work;
    budget->work_until += work;
    budget->more_us += (int64_t)(work / UNITS_PER_US);
}

/* A body may hold a hundred thousand short numbers, and PCRE2 takes longer to begin a match than to deny one. */
static bool is_too_short(const struct regex *regex, struct span subject)
{
    bool is_ascii = true;

    if (subject.len >= regex->least)
        return false;
    return utf8_check(subject, 0, subject.len, &is_ascii) != SIZE_MAX; /* else it is undecided */
}

static struct regex__limits limits_of(size_t len)
{
    return (struct regex__limits){.match_limit = (uint32_t)(MATCH_LIMIT_PRODUCT / (len > 0 ? len : 1)) + MATCH_LIMIT_LEAST,
                                  .max_work = MATCH_WORK + (uint64_t)MATCH_WORK_PER_BYTE * len};
}

enum regex_result regex_match(const struct regex *regex, struct span subject, bool whole, struct regex_budget *budget)
{
    struct regex__limits limits = limits_of(subject.len);

    if (is_too_short(regex, subject))
        return regex_budget_spend(budget, SHORT_WORK) ? REGEX_NO_MATCH : REGEX_UNDECIDED;
    return regex__match(regex, subject, whole, &limits, budget);
}

enum regex_result regex_find(const struct regex *regex, struct span subject, bool is_ascii, size_t from, size_t last,
                             struct regex_budget *budget, struct span *found)
{
    struct regex__limits limits = limits_of(subject.len - from);
    struct run run = {.regex = regex, .budget = budget, .is_ascii = is_ascii,
                      .search_rate = from < last ? regex->search_rate : 0};
    const PCRE2_SIZE *places;
    size_t began = last;
    int result;

    /* PCRE2 may look through all that follows for a byte that every match has, which is fast. */
    if (!regex_budget_spend(budget, SHORT_WORK * 4 + (last - from) / 32) || !has_time_for(budget, (last - from) / 2))
        return REGEX_UNDECIDED;
    result = match_from(&run, subject, from, last, from == last ? PCRE2_ANCHORED : 0, &limits);
    if (result >= 0) {
        places = pcre2_get_ovector_pointer(scratch_here->match_data);
        *found = span_part(subject, places[0], places[1] > places[0] ? places[1] - places[0] : 0);
        began = places[0] < last ? places[0] : last;
    }
    (void)regex_budget_spend(budget, began > from ? (began - from) / 2 : 0); /* it says where the next match begins */
    return result_of(result);
}

bool regex_has_group(const struct regex *regex, const char *name)
{
    int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name);

    return number > 0 && number <= REGEX_GROUPS_MAX;
}

enum regex_result regex_match_group(const struct regex *regex, struct span subject, const char *name, struct span *found)
{
    struct regex_budget budget;
    enum regex_result result;
    size_t at = 2 * (size_t)pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name), begin, end;
    const PCRE2_SIZE *places;

    regex_budget_init(&budget);
    result = regex_match(regex, subject, true, &budget);
    if (result != REGEX_MATCH)
        return result;
    if (scratch_here->match_data == NULL) /* the match data was given back after a match that took much memory */
        return REGEX_UNDECIDED;
    places = pcre2_get_ovector_pointer(scratch_here->match_data);
    begin = places[at];
    end = places[at + 1];
    if (begin == PCRE2_UNSET || end < begin)
        return REGEX_UNDECIDED;
    *found = span_part(subject, begin, end - begin);
    return REGEX_MATCH;
}

enum regex_result regex_may_begin(const struct regex *regex, struct span beginning, bool whole, struct regex_budget *budget)
{
    struct regex__limits limits = limits_of(beginning.len);
    uint32_t options = 0;

    if (!whole && (pcre2_pattern_info(regex->code, PCRE2_INFO_ALLOPTIONS, &options) != 0 || !(options & PCRE2_ANCHORED)))
        return REGEX_MATCH; /* it may be found in what follows */
    return match_as(regex, beginning, PCRE2_PARTIAL_HARD | (whole ? PCRE2_ANCHORED : 0), &limits, budget);
}
