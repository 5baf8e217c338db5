/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "regex/regex.h"

static struct regex *tenant_regex(struct conf_reader *reader, const struct yaml_node *node)
{
    struct span pattern = conf__text(reader, node);
    struct regex *regex;
    struct why why = {""};
    const char *example;
    size_t offset;
    enum code code;

    if (pattern.at == NULL)
        return NULL;
    code = regex_compile(pattern, &regex, &offset, &why);
    if (code == CODE_NOMEM) {
        reader->out_of_memory = true;
        return NULL;
    }
    if (code != CODE_OK) {
        CONF_FAULT(reader, node, "the regex is not valid at byte %zu: %s", offset, why.text);
        return NULL;
    }
    if (!regex_has_group(regex, "tenant"))
        CONF_FAULT(reader, node, "the regex does not say what the tenant is; put it into a group: (?<tenant>[a-z]+)");
    else if (!regex_is_affordable(regex, true, &example))
        CONF_FAULT(reader, node, "the regex takes ever longer on %s; make what repeats shorter or possessive", example);
    return regex;
}

static void read_tenant(struct conf_reader *reader, const struct yaml_node *map, struct identity_source *source)
{
    const struct yaml_node *node = yaml_member(map, "tenant"), *uri;

    if (node == NULL)
        return;
    if (node->type != YAML_MAP) {
        source->tenant = conf__principal(reader, map, "tenant", "acme").at;
        return;
    }
    if (!conf__map(reader, node, conf__certificate_tenant, "`tenant`"))
        return;
    uri = yaml_member(node, "uri");
    if (node->count != 1 || (uri == NULL && !conf__bool(reader, node, "o")))
        CONF_FAULT(reader, node, "`tenant` is a constant, {o: true}, or {uri: "
                   "'spiffe://(?<tenant>[a-z]+)\\.example\\.org/.*'}");
    else if (uri != NULL)
        source->tenant_regex = tenant_regex(reader, uri);
}

const char *conf__certificate_from(struct conf_reader *reader, const struct yaml_node *map)
{
    static const char *const headers[] = {"X-Forwarded-Client-Cert", "Client-Cert", NULL};
    const char *header = yaml_member(map, "from") != NULL ? headers[conf__choice(reader, map, "from", headers)] : NULL;

    if (header != NULL && reader->proxy->trusted_proxy_count == 0)
        CONF_FAULT(reader, map, "nobody may hand on a certificate while no proxy is trusted; name its address in "
                   "`trusted_proxies`, or leave `from` out");
    if (header == NULL && !reader->has_client_ca)
        CONF_FAULT(reader, map, "no listener asks for client certificates; give one `tls: {client_ca: agents-ca.pem}`");
    return header;
}

void conf__source_certificate(struct conf_reader *reader, const struct yaml_node *source_node, struct identity_source *source)
{
    const struct yaml_node *node = yaml_member(source_node, "certificate");
    bool is_map = node->type == YAML_MAP;

    if (is_map && conf__read(reader, node, conf__certificate, "`certificate`", source))
        read_tenant(reader, node, source);
    else if (!is_map && !span_is(conf__text(reader, node), "subject"))
        CONF_FAULT(reader, node, "`certificate` is `subject` (CN and O), or says which names count; write {certificate: "
                   "{principal: uri, tenant: {o: true}}}");
    source->header = conf__certificate_from(reader, is_map ? node : source_node);
}
