/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "base/ascii.h"
#include "base/bug.h"
#include "base/mem.h"
#include "base/num.h"
#include "http/authority.h"
#include "http/head.h"
#include "http/writer.h"
#include "os/file.h"

#include <stdio.h>

#define KEYS_MOST 48

bool conf__map(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys, const char *what)
{
    const char *known[KEYS_MOST] = {NULL};

    if (node->type != YAML_MAP) {
        CONF_FAULT(reader, node, "%s is a map; write `%s: ...` in it", what, keys[0].name);
        return false;
    }
    for (size_t i = 0; keys[i].name != NULL; i++) {
        BUG_ON(i + 1 == KEYS_MOST);
        known[i] = keys[i].name;
    }
    yaml_check_keys(reader->tree, node, known, what, reader->faults);
    return true;
}

const struct yaml_node *conf__need(struct conf_reader *reader, const struct yaml_node *map, const char *key,
                                   const char *example)
{
    const struct yaml_node *node = yaml_member(map, key);

    if (node == NULL)
        CONF_FAULT(reader, map, "`%s` is missing; write `%s: %s`", key, key, example);
    return node;
}

const struct yaml_node *conf__list(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max)
{
    const struct yaml_node *node = yaml_member(map, key);

    if (node == NULL)
        return NULL;
    if (node->type != YAML_LIST || node->count == 0) {
        CONF_FAULT(reader, node, "`%s` is a list of at least one; write `%s: [...]`", key, key);
        return NULL;
    }
    if (node->count > max) {
        CONF_FAULT(reader, node, "`%s` has %u entries; %u are the most", key, node->count, max);
        return NULL;
    }
    return node;
}

struct span conf__copy(struct conf_reader *reader, struct span text)
{
    char *copy = arena_dup(reader->arena, text.at, text.len);

    if (copy == NULL)
        reader->out_of_memory = true;
    return span_of(copy, copy != NULL ? text.len : 0);
}

struct span conf__lower(struct conf_reader *reader, struct span text)
{
    char *copy = arena_dup(reader->arena, text.at, text.len);

    if (copy == NULL) {
        reader->out_of_memory = true;
        return SPAN_NONE;
    }
    return ascii_lower_all(text, copy);
}

struct span conf__text(struct conf_reader *reader, const struct yaml_node *node)
{
    if (node->type != YAML_STRING) {
        CONF_FAULT(reader, node, "a text is expected here; put it in quotes");
        return SPAN_NONE;
    }
    if (node->text.len == 0) {
        CONF_FAULT(reader, node, "an empty text; write one, or leave the key out");
        return SPAN_NONE;
    }
    for (size_t i = 0; i < node->text.len; i++)
        if ((unsigned char)node->text.at[i] < 0x20 || node->text.at[i] == 0x7f) {
            CONF_FAULT(reader, node, "a control character in the text; leave it out");
            return SPAN_NONE;
        }
    return conf__copy(reader, node->text);
}

struct span conf__text_of(struct conf_reader *reader, const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_member(map, key);

    return node != NULL ? conf__text(reader, node) : SPAN_NONE;
}

/* Each file that is named is one that a reload may read. */
static void note_file(struct conf_reader *reader, struct span path)
{
    if (reader->files == NULL || path.at == NULL)
        return;
    if (reader->file_count == CONF_FILES_MAX)
        faults_add(reader->faults, reader->path, 0, 0, "more than %d files are named", CONF_FILES_MAX);
    else if ((reader->files[reader->file_count] = arena_dup(reader->own_arena, path.at, path.len)) == NULL)
        reader->out_of_memory = true;
    else
        reader->file_count++;
}

const char *conf__beside(struct conf_reader *reader, struct span text)
{
    char *beside;
    struct span copy;

    if (text.at == NULL)
        return NULL;
    beside = file_beside(reader->path, text);
    if (beside == NULL) {
        reader->out_of_memory = true;
        return NULL;
    }
    copy = conf__copy(reader, span_text(beside));
    mem_free(beside);
    note_file(reader, copy);
    return copy.at;
}

const char *conf__path(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *otherwise)
{
    const struct yaml_node *node = yaml_member(map, key);

    return conf__beside(reader, node != NULL ? conf__text(reader, node) : span_text(otherwise));
}

const char *const *conf__paths(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max)
{
    const struct yaml_node *list = conf__list(reader, map, key, max);
    const char **paths = list != NULL ? conf__array(reader, list->count + 1, sizeof *paths) : NULL;
    size_t count = 0;

    for (const struct yaml_node *node = paths != NULL ? list->child : NULL; node != NULL; node = node->next) {
        paths[count] = conf__beside(reader, conf__text(reader, node));
        count += paths[count] != NULL;
    }
    return count > 0 ? paths : NULL;
}

bool conf__bool(struct conf_reader *reader, const struct yaml_node *map, const char *key)
{
    const struct yaml_node *node = yaml_member(map, key);

    if (node == NULL)
        return false;
    if (node->type != YAML_BOOL)
        CONF_FAULT(reader, node, "`%s` is true or false%s", key, yaml_bool_words(node));
    return node->type == YAML_BOOL && node->truth;
}

size_t conf__word(struct conf_reader *reader, const struct yaml_node *node, const char *key, const char *const *words)
{
    char known[160];
    const char *nearest;

    for (size_t i = 0; words[i] != NULL; i++)
        if (node->type == YAML_STRING && span_is(node->text, words[i]))
            return i;
    if (node->type == YAML_LIST || node->type == YAML_MAP) {
        why_list(words, "or", known, sizeof known);
        CONF_FAULT(reader, node, "`%s` is one word: %s", key, known);
        return 0;
    }
    nearest = why_nearest(node->text.at, node->text.len, words);
    why_list(words, "or", known, sizeof known);
    if (nearest != NULL)
        CONF_FAULT(reader, node, "`%s` knows no `%.*s`; did you mean `%s`?", key, SPAN_ARG(node->text), nearest);
    else
        CONF_FAULT(reader, node, "`%s` knows no `%.*s`; write %s", key, SPAN_ARG(node->text), known);
    return 0;
}

size_t conf__choice(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *const *words)
{
    const struct yaml_node *node = yaml_member(map, key);

    return node != NULL ? conf__word(reader, node, key, words) : 0;
}

static bool is_scalar_number(const struct yaml_node *node)
{
    return node->type == YAML_STRING || node->type == YAML_INT;
}

uint64_t conf__size(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint64_t min, uint64_t max)
{
    const struct yaml_node *node = yaml_member(map, key);
    uint64_t bytes;

    if (node == NULL)
        return 0;
    if (!is_scalar_number(node) || num_size(node->text, &bytes) != CODE_OK) {
        CONF_FAULT(reader, node, "`%s` is a size; write 64 KiB, 4 MiB or a number of bytes", key);
        return 0;
    }
    if (bytes < min || bytes > max) {
        CONF_FAULT(reader, node, "`%s` is between %llu and %llu bytes", key, (unsigned long long)min, (unsigned long long)max);
        return 0;
    }
    return bytes;
}

static uint32_t duration_of(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint64_t min_ms,
                            uint64_t max_ms)
{
    const struct yaml_node *node = yaml_member(map, key);
    uint64_t ms;

    if (node == NULL)
        return 0;
    if (!is_scalar_number(node) || num_duration(node->text, &ms) != CODE_OK) {
        CONF_FAULT(reader, node, "`%s` is a time with its unit; write 500ms, 10s or 5min", key);
        return 0;
    }
    if (ms < min_ms || ms > max_ms) {
        CONF_FAULT(reader, node, "`%s` is between %llu%s and %llus", key,
                   (unsigned long long)(min_ms < 1000 ? min_ms : min_ms / 1000), min_ms < 1000 ? "ms" : "s",
                   (unsigned long long)(max_ms / 1000));
        return 0;
    }
    return (uint32_t)ms;
}

uint32_t conf__number(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max)
{
    const struct yaml_node *node = yaml_member(map, key);
    uint64_t value;

    if (node == NULL)
        return 0;
    if (node->type != YAML_INT || num_u64(node->text, &value) != CODE_OK || value == 0 || value > max) {
        CONF_FAULT(reader, node, "`%s` is a whole number between 1 and %u", key, max);
        return 0;
    }
    return (uint32_t)value;
}

/* Whether the protocol decides on the header, whatever a configuration says; with `_`, too, which many
 * servers read like `-`. */
static bool is_reserved(struct span written)
{
    static const char *const reserved[] = {"Accept", "Content-Encoding", "Content-Type", "Last-Event-ID", "Origin",
                                           "Host",   "Content-Length",   "Date",         "Vary",          NULL};

    char dashed[64]; /* none that is reserved is as long */
    struct span name = span_of(dashed, written.len < sizeof dashed ? written.len : sizeof dashed);

    for (size_t i = 0; i < name.len; i++)
        dashed[i] = written.at[i] == '_' ? '-' : written.at[i];
    for (size_t i = 0; reserved[i] != NULL; i++)
        if (span_equals_nocase(name, span_text(reserved[i])))
            return true;
    return (name.len >= 4 && span_equals_nocase(span_part(name, 0, 4), SPAN_LIT("Mcp-"))) || http_header_is_dropped(name);
}

struct span conf__header_name(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span name = conf__text(reader, node);

    if (name.at == NULL)
        return SPAN_NONE;
    if (!http_name_is_writable(name)) {
        CONF_FAULT(reader, node, "`%.*s` is no header name; write letters, digits and dashes", SPAN_ARG(name));
        return SPAN_NONE;
    }
    if (is_reserved(name)) {
        CONF_FAULT(reader, node, "the header %.*s is decided by the protocol or written by the gate; name another",
                   SPAN_ARG(name));
        return SPAN_NONE;
    }
    return name;
}

struct span conf__principal(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *example)
{
    const struct yaml_node *node = conf__need(reader, map, key, example);
    struct span name = node != NULL ? conf__text(reader, node) : SPAN_NONE;

    if (name.len <= 128 && ascii_is_all(name, ASCII_VISIBLE))
        return name;
    CONF_FAULT(reader, node, "`%s` is 1 to 128 visible ASCII characters; write `%s: %s`", key, key, example);
    return SPAN_NONE;
}

/* The default, where it is not one that is said in words. */
static uint64_t usual(const struct conf_key *key, enum code (*read)(struct span text, uint64_t *value))
{
    uint64_t value = 0;

    BUG_ON(key->usual != NULL && key->usual[0] != '(' && read(span_text(key->usual), &value) != CODE_OK);
    return value;
}

static unsigned word(struct conf_reader *reader, const struct yaml_node *map, const struct conf_key *key)
{
    unsigned at = 0;

    if (yaml_member(map, key->name) != NULL)
        return (unsigned)conf__choice(reader, map, key->name, key->words);
    while (strcmp(key->words[at], key->usual) != 0)
        at++;
    return at;
}

static void read_key(struct conf_reader *reader, const struct yaml_node *map, const struct conf_key *key, void *at)
{
    const struct yaml_node *node = yaml_member(map, key->name);
    uint64_t bytes;
    uint32_t number;

    switch (key->type) {
    case CONF_NAME: *(const char **)at = conf__text_of(reader, map, key->name).at; break;
    case CONF_HEADER: *(struct span *)at = node != NULL ? conf__header_name(reader, node) : SPAN_NONE; break;
    case CONF_FILE: *(const char **)at = conf__path(reader, map, key->name, key->usual); break;
    case CONF_FILES: *(const char *const **)at = conf__paths(reader, map, key->name, CONF_MAX_LISTS); break;
    case CONF_BOOL: *(bool *)at = conf__bool(reader, map, key->name); break;
    case CONF_FLAG: *(bool *)at = word(reader, map, key) == 1; break;
    case CONF_WORD: *(unsigned *)at = word(reader, map, key); break;
    case CONF_SIZE:
        bytes = conf__size(reader, map, key->name, key->min, key->max);
        *(uint64_t *)at = bytes != 0 ? bytes : usual(key, num_size);
        break;
    case CONF_TIME:
        number = duration_of(reader, map, key->name, key->min, key->max);
        *(uint32_t *)at = number != 0 ? number : (uint32_t)usual(key, num_duration);
        break;
    case CONF_COUNT:
        number = conf__number(reader, map, key->name, (uint32_t)key->max);
        *(uint32_t *)at = number != 0 ? number : (uint32_t)usual(key, num_u64);
        break;
    case CONF_MAP: (void)conf__read(reader, node, key->keys, key->called, at); break;
    case CONF_ANY:
    case CONF_TEXT:
    case CONF_RATE:
    case CONF_TEXTS:
    case CONF_WORDS:
    case CONF_MAPS:
    case CONF_LIST:
        BUG_ON("such a key is read by hand");
    }
}

bool conf__read(struct conf_reader *reader, const struct yaml_node *node, const struct conf_key *keys, const char *what,
                void *into)
{
    bool is_map = node != NULL && conf__map(reader, node, keys, what);

    for (; keys->name != NULL; keys++)
        if (keys->at != BY_HAND)
            read_key(reader, is_map ? node : NULL, keys, (char *)into + keys->at);
    return is_map;
}

void conf__name_files(struct conf_reader *reader, const struct yaml_node *map, const struct conf_key *keys)
{
    if (map == NULL || !conf__map(reader, map, keys, "`telemetry`"))
        return;
    for (; keys->name != NULL; keys++) {
        const struct yaml_node *node = yaml_member(map, keys->name);

        if (node != NULL && keys->type == CONF_FILE)
            (void)conf__path(reader, map, keys->name, NULL);
        else if (node != NULL && keys->type == CONF_FILES)
            (void)conf__paths(reader, map, keys->name, CONF_MAX_LISTS);
        for (node = node != NULL && keys->type == CONF_MAPS ? node->child : NULL; node != NULL; node = node->next)
            conf__name_files(reader, node, keys->keys);
    }
}

size_t conf__texts(struct conf_reader *reader, const struct yaml_node *map, const char *key, uint32_t max,
                   struct span (*one)(struct conf_reader *reader, const struct yaml_node *node), const struct span **texts)
{
    const struct yaml_node *list = conf__list(reader, map, key, max);
    struct span *all = list != NULL ? conf__array(reader, list->count, sizeof *all) : NULL;
    size_t count = 0;

    for (const struct yaml_node *node = all != NULL ? list->child : NULL; node != NULL; node = node->next)
        all[count++] = one(reader, node);
    *texts = all;
    return count;
}

struct span conf__host(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span host = conf__text(reader, node);
    struct http_authority authority;

    if (host.at != NULL && (!http_authority_read(host, &authority) || authority.port.len > 0))
        CONF_FAULT(reader, node, "`%.*s` is no host name; write it without scheme, port and path", SPAN_ARG(host));
    return conf__lower(reader, host);
}

void *conf__array(struct conf_reader *reader, size_t count, size_t bytes)
{
    void *array = arena_zalloc(reader->arena, (count ? count : 1) * bytes);

    if (array == NULL)
        reader->out_of_memory = true;
    return array;
}
