/* SPDX-License-Identifier: Apache-2.0 */
/* What `callgate telemetry` sends, and to whom. The gate knows the keys alone. */
#include "conf/conf_priv.h"

/* Which of the words stand in a list. Returns: false: there is no such list. */
static bool read_words(struct conf_reader *reader, const struct yaml_node *map, const char *key, const char *const *words,
                       bool *const *has)
{
    size_t count = 0;
    const struct yaml_node *list;

    while (words[count] != NULL)
        count++;
    list = conf__list(reader, map, key, (uint32_t)count);
    for (const struct yaml_node *word = list != NULL ? list->child : NULL; word != NULL; word = word->next)
        *has[conf__word(reader, word, key, words)] = true;
    return yaml_member(map, key) != NULL;
}

static void read_telemetry(struct conf_reader *reader, const struct yaml_node *node, struct conf_telemetry *out)
{
    static const char *const signals[] = {"traces", "metrics", "logs", NULL};
    static const char *const parts[] = {"principals", "arguments", "details", NULL};
    bool *const sent[] = {&out->traces, &out->metrics, &out->logs};
    bool *const told[] = {&out->principals, &out->arguments, &out->details};
    const struct yaml_node *place = yaml_member(node, "place");

    if (!read_words(reader, node, "send", signals, sent)) {
        out->traces = out->logs = true;
        out->metrics = out->admin.is_on && out->admin.public_metrics;
    } else if (out->metrics && !(out->admin.is_on && out->admin.public_metrics)) {
        CONF_FAULT(reader, yaml_member(node, "send"), "there are no metrics without `admin`, whose port has them; write "
                   "`admin: {address: '127.0.0.1:9901'}`, or leave `metrics` out");
    }
    (void)read_words(reader, node, "include", parts, told);
    out->place = conf__beside(reader, place != NULL ? conf__text(reader, place) : SPAN_LIT("telemetry.place"));
    conf__server_of(reader, node, conf__need(reader, node, "url", "'https://collector.internal:4318'"), true, SPAN_NONE,
                    &out->server);
}

enum code conf_telemetry(struct conf_file *file, struct arena *arena, struct conf_telemetry *out, struct faults *faults)
{
    struct faults unheard;
    struct conf_reader reader;
    const struct yaml_node *root, *node;
    size_t before = faults->added;
    enum code code = conf__begin(file, arena, &unheard, faults, &reader, &root);

    *out = (struct conf_telemetry){.place = NULL};
    if (code != CODE_OK)
        return code;
    conf__admin_of(&reader, root, &out->admin);
    node = yaml_member(root, "telemetry");
    if (node == NULL)
        faults_add(faults, reader.path, 1, 1, "there is no `telemetry`; write `telemetry: {url: "
                   "'https://collector.internal:4318'}`");
    else if (conf__read(&reader, node, conf__telemetry, "`telemetry`", out))
        read_telemetry(&reader, node, out);
    return reader.out_of_memory ? CODE_NOMEM : faults->added > before ? CODE_INVALID : CODE_OK;
}
