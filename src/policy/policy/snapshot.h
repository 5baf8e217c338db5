/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled policy: a snapshot of all files of a version.
 *
 * Threads: a finished snapshot is immutable.
 * Owns: everything compiled lives in its arena; regexes and operand buffers are freed with it.
 * Lifetime: policy_ref, policy_unref.
 * Errors: CODE_NOMEM. */
#ifndef POLICY_SNAPSHOT_H
#define POLICY_SNAPSHOT_H

#include "base/ref.h"
#include "policy/case.h"
#include "texts/detector.h"
#include "policy/rule.h"

struct yaml_node;

struct pattern { /* a regex; one for each text of the set */
    struct pattern *next;
    struct span text;
    struct regex *regex; /* NULL: did not compile; told */
    size_t offset;
    char why[256];
    struct {
        bool done, affordable;
        const char *example;
    } pumped[2]; /* anywhere, whole */
};

struct known_zone { /* one for each name of the set */
    struct known_zone *next;
    struct span name;
    const struct zone *zone;
};

struct known_detector { /* one of a file's `detectors` */
    struct known_detector *next;
    const struct yaml_node *node; /* while it is compiled: which definition it is */
    struct detector detector;
    const struct detector *list; /* itself, alone */
    const struct detector_set *set;
    bool is_pumped, is_affordable;
    const char *example; /* where it is not affordable */
};

struct known_set { /* one for each list that some `detect` names */
    struct known_set *next;
    const struct detector *const *list;
    uint32_t count;
    const struct detector_set *set;
};

struct known_path { /* one of a file's `paths` */
    struct known_path *next;
    const struct yaml_node *node; /* while it is compiled: which definition it is */
    const struct file_place *place;
};

struct kept_buf { /* a buffer that parsed operands point into */
    struct kept_buf *next;
    struct buf buf;
};

#define PATTERN_BUCKETS 256

struct index; /* index.h: finds rules by one exact name */

struct policy {
    struct ref ref;
    uint64_t serial; /* unique in the process, for caches */
    uint64_t version;
    char hash[64];
    struct arena arena;
    struct pattern *patterns[PATTERN_BUCKETS];
    struct kept_buf *kept;
    struct known_zone *zones;
    struct label *labels;
    struct known_detector *detectors;
    struct known_set *sets;
    struct known_path *paths;
    struct watch *watches;
    uint32_t watch_count;
    struct policy_source *sources;
    uint32_t source_count;
    struct rule *rules; /* by effect, then id in byte order */
    uint32_t rule_count;
    const struct rule **by_id;
    struct rule *answers; /* by effect, the strongest first, then id; a closing rule each (EFFECT_FORBID) */
    uint32_t answer_count;
    struct redaction *redactions;
    uint32_t redaction_count;
    struct policy_case *cases;
    uint32_t case_count;
    uint32_t condition_count;
    struct meta_asks meta_asks[2]; /* [question_has_arguments]: of other methods `arg:` reaches _meta, too */
    const struct claim_ask *claims; /* that rules ask for; none lies below another */
    /* some rule or redaction restricts them */
    bool asks_principal, asks_agent, asks_path, asks_query, asks_resource, asks_prompt, asks_held;
    bool holds; /* some rule may hold a call for a person */
    const struct index *index;
};

/* Without a rule; NULL: not enough memory. The serial is the next one. */
struct policy *policy_new(uint64_t version);

const struct rule *policy_rule_by_id(const struct policy *policy, struct span id);
const struct rule *policy_answer_by_id(const struct policy *policy, struct span id); /* of rules for answers */

/* Of a recorded call, the value below which what is asked for lies, and the path from there on. Takes: path: that of `ask`.
 * Returns: false: it was not recorded. */
bool policy_claim_recorded(const struct claim_ask *ask, const struct json_node *recorded, struct path *path,
                           const struct json_node **root);

#endif
