/* SPDX-License-Identifier: Apache-2.0 */
/* `detectors:` of a file, and the lists of them that `detect:` names. */
#include "words/compiler.h"

#include "base/ascii.h"
#include "base/num.h"

#define BEFORE_MAX 256
#define NAME_MAX_BYTES 40

/* Which detectors each file of policies/detectors has, for an author who names one but did not load its file. A test
 * compares this table with the files. */
static const struct {
    const char *file, *names;
} shipped[] = {
    {"payment.yaml",
     "payment_card iban bank_routing_us bitcoin_key ethereum_key seed_phrase"},
    {"people.yaml",
     "us_ssn uk_nhs uk_nino ca_sin nl_bsn pl_pesel ch_ahv au_tfn cn_id no_fnr br_cpf de_tax_id es_dni "
     "fi_hetu fr_nir be_rrn it_code se_person in_aadhaar in_pan email phone"},
    {"keys.yaml",
     "private_key age_key jwt password_in_url password_in_connection secret_assigned bearer_token"},
    {"cloud.yaml",
     "aws_key aws_secret_key google_key google_service_account azure_key azure_sas digitalocean_token "
     "alibaba_key cloudflare_ca_key vault_token terraform_token databricks_token grafana_token "
     "pulumi_token planetscale_token heroku_key new_relic_key doppler_token onepassword_token "
     "supabase_token netlify_token"},
    {"code.yaml",
     "github_token github_fine_token gitlab_token bitbucket_token atlassian_token npm_token pypi_token "
     "rubygems_token crates_token nuget_key clojars_token docker_token artifactory_token sonar_token "
     "sentry_token postman_key linear_key figma_token buildkite_token"},
    {"services.yaml",
     "slack_token slack_webhook discord_token discord_webhook telegram_token teams_webhook stripe_key "
     "square_token shopify_token paypal_token adyen_key flutterwave_key twilio_key sendgrid_key "
     "mailgun_key mailchimp_key sendinblue_key hubspot_token notion_token airtable_token dropbox_token "
     "facebook_token openai_key anthropic_key hugging_face_token model_key"},
    {"text.yaml",
     "hidden_text instructs_to_ignore instructs_to_be_another instructs_to_be_silent instructs_about_tools instructs_in_a_tag "
     "instructs_to_leak"},
};

static bool has_word(const char *words, struct span word)
{
    struct span rest = span_text(words), one;

    while (rest.len > 0) {
        one = span_cut(rest, ' ', &rest);
        if (span_equals(one, word))
            return true;
    }
    return false;
}

const char *compiler_detector_file(struct span name)
{
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++)
        if (has_word(shipped[i].names, name))
            return shipped[i].file;
    return NULL;
}

/* ---- definitions ---- */

static bool is_detector_name(struct span name)
{
    return name.len > 0 && name.len <= NAME_MAX_BYTES && !ascii_is_digit(name.at[0]) && ascii_is_all(name, "a-z0-9_");
}

static void take_literal(struct compiler *c, const struct yaml_node *text, void *part)
{
    if (!detector_literal_read(text->text, part))
        FAULT(c, text, "`%.*s` is no literal; write 2 to %d bytes as they stand in every match, with \\d, \\l or \\w for a "
              "digit, a letter or either, and \\b in front where none of these stands before it", SPAN_ARG(text->text),
              DETECTOR_LITERAL_MAX);
}

/* The bytes with which the pattern begins, if it has no alternatives. Returns: how many. */
static size_t derive(struct span pattern, char out[DETECTOR_LITERAL_MAX])
{
    static const char *const skipped[] = {"(?i)", "\\b"};
    bool has_alternatives = false;
    size_t at = 0, len = 0, depth = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        depth += pattern.at[i] == '(';
        depth -= pattern.at[i] == ')' && depth > 0;
        has_alternatives |= pattern.at[i] == '|' && depth == 0;
    }
    if (has_alternatives)
        return 0;
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (span_starts_with(span_part(pattern, at, SIZE_MAX), span_text(skipped[i])))
            at += strlen(skipped[i]);
    while (at < pattern.len && len < DETECTOR_LITERAL_MAX && strchr("\\^$.[|()?*+{", pattern.at[at]) == NULL)
        out[len++] = pattern.at[at++];
    if (len > 0 && at < pattern.len && strchr("?*{", pattern.at[at]) != NULL)
        len--;
    return len;
}

static void compile_literals(struct compiler *c, const struct yaml_node *map, struct span pattern, struct detector *detector)
{
    const struct yaml_node *literals = yaml_member(map, "literals"), *before = yaml_member(map, "before");
    struct detector_literal *derived;
    char text[DETECTOR_LITERAL_MAX];
    uint64_t bytes;
    size_t len = 0;

    if (literals != NULL) {
        detector->literals = compiler_texts(c, literals, sizeof *derived, take_literal, &detector->literal_count);
    } else {
        derived = compiler_alloc(c, 1, sizeof *derived);
        len = derive(pattern, text);
        detector->literals = derived;
        detector->literal_count = 1;
        if (derived != NULL && !detector_literal_read(span_of(text, len), derived))
            FAULT(c, map, "no literal can be seen at the pattern's front; write `literals:`, a list of which one stands in "
                  "every match");
    }
    if (before == NULL)
        return;
    if (before->type == YAML_INT && num_u64(before->json, &bytes) == CODE_OK && bytes > 0 && bytes <= BEFORE_MAX)
        detector->before = (uint32_t)bytes;
    else
        FAULT(c, before, "`before` is how many bytes of a match may stand before its literal; write a number from 1 to %d",
              BEFORE_MAX);
}

/* `finds` and `passes` are the author's tests of the detector: each example is searched as a text of a call will be. */
static void try_examples(struct compiler *c, const struct yaml_node *map, const char *key, const struct detector_set *set)
{
    const struct yaml_node *list = yaml_member(map, key);
    bool finds = span_is(span_text(key), "finds");

    if (list == NULL || (list->type == YAML_LIST && list->count == 0)) {
        if (finds)
            FAULT(c, map, "a detector without an example may find nothing; add `finds:`, texts in which it finds something");
        return;
    }
    if (!compiler_is_list(c, list))
        return;
    for (const struct yaml_node *one = list->child; one != NULL; one = one->next) {
        struct regex_budget budget;
        enum truth truth;

        if (!compiler_is_string(c, one))
            continue;
        regex_budget_init(&budget);
        truth = detector_find(set, one->text, &budget, NULL);
        if (truth != truth_of(finds))
            FAULT(c, one, "the detector `%.*s` %s this example of `%s`; mend its pattern, literals or check, or the example",
                  SPAN_ARG(map->key), truth == TRUTH_TRUE ? "finds something in"
                  : truth == TRUTH_FALSE ? "finds nothing in" : "cannot decide", key);
    }
}

/* Returns: NULL: it is not usable; a fault says why. */
static struct known_detector *compile_detector(struct compiler *c, const struct yaml_node *map)
{
    static const char *const known[] = {"pattern", "literals", "before", "check", "finds", "passes", NULL};
    struct known_detector *made = compiler_alloc(c, 1, sizeof *made);
    const struct yaml_node *pattern = yaml_member(map, "pattern"), *check = yaml_member(map, "check");
    const struct yaml_node *finds = yaml_member(map, "finds");
    size_t faults = c->faults->added;
    bool pumps = c->pumps;
    int word;

    if (!is_detector_name(map->key))
        FAULT_KEY(c, map, "`%.*s` is no name of a detector; write up to %d small letters, digits and `_`", SPAN_ARG(map->key),
                  NAME_MAX_BYTES);
    if (made == NULL || !compiler_is_map_of(c, map, known, "a detector"))
        return NULL;
    if (pattern == NULL)
        FAULT(c, map, "a detector without a `pattern` finds nothing; write a regex of what it finds");
    if (pattern == NULL || !compiler_is_string(c, pattern))
        return NULL;
    made->node = map;
    made->detector.name = compiler_copy(c, map->key);
    c->pumps = false; /* what a detector costs is tried where it is used, as with patterns */
    made->detector.regex = compiler_pattern(c, pattern, pattern->text, false);
    c->pumps = pumps;
    compile_literals(c, map, pattern->text, &made->detector);
    word = check != NULL ? compiler_word(c, check, detector_check_names) : -1;
    made->detector.check = word >= 0 ? detector_checks[word] : NULL;
    if (finds != NULL && finds->type == YAML_LIST && finds->count > 0)
        made->detector.example = compiler_copy(c, finds->child->text);
    return c->no_memory || c->faults->added > faults ? NULL : made;
}

/* Called for every file before any rule is compiled. */
void compiler_detectors(struct compiler *c)
{
    const struct yaml_node *map = yaml_member(yaml_root(c->tree), "detectors");

    if (!compiler_is_map(c, map))
        return;
    for (const struct yaml_node *member = map->child; member != NULL && !c->no_memory; member = member->next) {
        struct known_detector *made = compile_detector(c, member);

        if (made == NULL)
            continue;
        made->list = &made->detector;
        c->no_memory |= detector_set_make(&made->list, 1, &c->policy->arena, &made->set) == CODE_NOMEM;
        if (c->no_memory)
            return;
        if (c->pumps) { /* files that are stored were tried before */
            try_examples(c, member, "finds", made->set);
            try_examples(c, member, "passes", made->set);
        }
        made->next = c->policy->detectors;
        c->policy->detectors = made;
    }
}

/* ---- lists of them ---- */

static void ask_set(const void *set, struct span subject, struct regex_budget *budget)
{
    struct buf all;

    buf_init(&all, (size_t)1 << 20);
    if (detector_find(set, subject, budget, &all) == TRUTH_UNDECIDED)
        (void)regex_budget_spend(budget, UINT32_MAX); /* a match that comes to its limit on so short a subject costs too much */
    buf_fini(&all);
}

/* Tries hostile inputs as a call's text is searched: beside the detector's literals only. */
static void pump(struct compiler *c, const struct yaml_node *name, struct known_detector *known)
{
    if (!known->is_pumped)
        known->is_affordable = regex_is_affordable_to(ask_set, known->set, known->detector.regex, &known->example);
    known->is_pumped = true;
    if (!known->is_affordable)
        FAULT(c, name, "the cost of the detector `%.*s` explodes on %s; write its pattern without nested or neighbouring "
              "repetition, or accept it with `slow_regex: allow` on the rule", SPAN_ARG(name->text), known->example);
}

const struct detector *compiler_detector(struct compiler *c, const struct yaml_node *name)
{
    const struct yaml_node *node = compiler_named_text(c, name, &c->detectors);

    for (struct known_detector *known = c->policy->detectors; known != NULL && node != NULL; known = known->next)
        if (known->node == node) {
            if (c->pumps && !c->slow_allowed)
                pump(c, name, known);
            return &known->detector;
        }
    return NULL;
}

static void take_name(struct compiler *c, const struct yaml_node *text, void *part)
{
    *(const struct detector **)part = compiler_detector(c, text);
}

const struct detector_set *compiler_detect(struct compiler *c, const struct yaml_node *node)
{
    size_t faults = c->faults->added;
    uint32_t count = 0;
    const struct detector **list = compiler_texts(c, node, sizeof(struct detector *), take_name, &count);

    return c->faults->added > faults ? NULL : compiler_detector_set(c, node, list, count);
}

const struct detector_set *compiler_detector_set(struct compiler *c, const struct yaml_node *node,
                                                 const struct detector *const *list, uint32_t count)
{
    struct known_set *known;
    enum code code;

    for (uint32_t i = 0; i < count; i++)
        if (list[i] == NULL)
            return NULL; /* a fault tells it, here or where the detector is defined */
    if (c->no_memory || count == 0)
        return NULL;
    for (known = c->policy->sets; known != NULL; known = known->next)
        if (known->count == count && memcmp(known->list, list, count * sizeof(struct detector *)) == 0)
            return known->set;
    known = compiler_alloc(c, 1, sizeof *known);
    if (known == NULL)
        return NULL;
    *known = (struct known_set){.next = c->policy->sets, .list = list, .count = count};
    code = detector_set_make(list, count, &c->policy->arena, &known->set);
    c->no_memory |= code == CODE_NOMEM;
    if (code == CODE_LIMIT)
        FAULT(c, node, "more than %d detectors, or more literals than one list takes; make two conditions of it",
              DETECTORS_MAX);
    c->policy->sets = code == CODE_OK ? known : c->policy->sets;
    return code == CODE_OK ? known->set : NULL;
}
