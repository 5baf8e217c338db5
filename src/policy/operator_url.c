/* SPDX-License-Identifier: Apache-2.0 */
/* Where a URL leads. Clients read debatable URLs in different ways, so that those are undecided (src/README.md says which). */
#include "policy/compile_priv.h"

#include "base/glob.h"
#include "base/num.h"

struct host_term {
    struct span text; /* in lower case; a name or a glob */
    bool is_address;
    struct address address;
};

struct url_terms {
    const struct span *schemes; /* in lower case */
    const struct host_term *hosts;
    const uint64_t *ports;
    uint32_t scheme_count, host_count, port_count;
    bool any_port;
};

/* Schemes whose default port every client knows, and that all need a host (WHATWG URL, special schemes). */
static const struct {
    const char *scheme;
    uint64_t port;
} usual[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}};

/* Returns: 0 for other schemes. */
static uint64_t usual_port(struct span scheme)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (span_equals_nocase(scheme, span_text(usual[i].scheme)))
            return usual[i].port;
    return 0;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* RFC 3986, scheme. */
static bool is_scheme(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_letter(text.at[i]) && (i == 0 || !(is_digit(text.at[i]) || (text.at[i] && strchr("+-.", text.at[i])))))
            return false;
    return text.len > 0;
}

/* Labels of letters, digits, `-` and `_`; in a policy also `*` and `?`. */
static bool is_name(struct span text, const char *more)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];

        if (c == '.' ? i == 0 || i + 1 == text.len || text.at[i - 1] == '.'
                     : !is_letter(c) && !is_digit(c) && (c == '\0' || strchr(more, c) == NULL))
            return false;
    }
    return text.len > 0;
}

/* Whether some client takes the name for an IPv4 address: 2130706433, 127.1, 0x7f.1. */
static bool ends_in_number(struct span name)
{
    size_t begin = name.len;
    struct span last;

    while (begin > 0 && name.at[begin - 1] != '.')
        begin--;
    last = span_part(name, begin, SIZE_MAX);
    if (last.len >= 2 && last.at[0] == '0' && (last.at[1] | 32) == 'x')
        return true;
    for (size_t i = 0; i < last.len; i++)
        if (!is_digit(last.at[i]))
            return false;
    return last.len > 0;
}

/* Takes: a host as it stands in a URL, IPv6 in brackets. Gives what it reaches, so that a forbidden IPv4 address is not to be
 * had in IPv6's clothes. */
static bool read_address(struct span host, struct address *address)
{
    bool in_brackets = host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']';

    if (!address_read(in_brackets ? span_part(host, 1, host.len - 2) : host, address))
        return false;
    if ((address->family == 6) != in_brackets)
        return false;
    address_unmap(address);
    return true;
}

/* ---- the policy's side ---- */

static enum code copy_lower(struct compiler *c, struct span text, struct span *copy)
{
    char *at = arena_dup(&c->policy->arena, text.at, text.len);

    if (at == NULL)
        return CODE_NOMEM;
    for (size_t i = 0; i < text.len; i++)
        at[i] = at[i] >= 'A' && at[i] <= 'Z' ? (char)(at[i] | 32) : at[i];
    *copy = span_of(at, text.len);
    return CODE_OK;
}

static enum code take_scheme(struct compiler *c, const struct yaml_node *text, void *part)
{
    if (!is_scheme(text->text))
        FAULT(c, text, "`%.*s` is no scheme; write it without `:` and `//`, as in [https]", SPAN_ARG(text->text));
    return copy_lower(c, text->text, part);
}

static const char *wrong_with_host(struct span host, bool is_address)
{
    if (is_address)
        return NULL;
    if (host.len > 0 && host.at[0] == '[')
        return "is no IPv6 address; write it as in '[2001:db8::1]'";
    if (span_find(host, ':') < host.len || span_find(host, '/') < host.len || span_find(host, '@') < host.len)
        return "is more than a host; write the host alone, in brackets if it is an IPv6 address; schemes and ports have "
               "lists of their own";
    if (!is_name(host, "-_*?"))
        return "is no host; write letters, digits, `-`, `_` and dots, `*` and `?` for parts, other letters as xn--...";
    if (glob_is_literal(host) && ends_in_number(host))
        return "is no host that all clients read alike; write an IPv4 address as four plain numbers, ranges with `cidr`";
    return NULL;
}

static enum code take_host(struct compiler *c, const struct yaml_node *text, void *part)
{
    struct host_term *term = part;
    const char *wrong;

    term->is_address = read_address(text->text, &term->address);
    wrong = wrong_with_host(text->text, term->is_address);
    if (wrong != NULL)
        FAULT(c, text, "`%.*s` %s", SPAN_ARG(text->text), wrong);
    return copy_lower(c, text->text, &term->text);
}

static enum code compile_ports(struct compiler *c, const struct yaml_node *list, struct url_terms *terms)
{
    uint64_t *ports = policy__alloc(c, list->count, sizeof *ports);

    terms->any_port = list->type == YAML_STRING && span_is(list->text, "any");
    if (terms->any_port)
        return CODE_OK;
    terms->ports = ports;
    if (ports == NULL)
        return CODE_NOMEM;
    if (list->type != YAML_LIST)
        FAULT(c, list, "`ports` is a list of numbers or the word any; write [443, 8443] or any");
    else if (list->count == 0)
        FAULT(c, list, "nothing is in an empty list; name at least one");
    for (const struct yaml_node *port = list->child; port != NULL; port = port->next) {
        uint64_t *number = &ports[terms->port_count++];

        if (port->type != YAML_INT || num_u64(port->json, number) != CODE_OK || *number == 0 || *number > 65535)
            FAULT(c, port, "this is no port; write a number from 1 to 65535");
    }
    return CODE_OK;
}

enum code policy__compile_url(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"schemes", "hosts", "ports", NULL};
    struct url_terms *terms = policy__alloc(c, 1, sizeof *terms);
    const struct yaml_node *part;
    void *parts = NULL;
    enum code code = CODE_OK;

    op->url = terms;
    if (terms == NULL)
        return CODE_NOMEM;
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "`url`");
    if (node->count == 0)
        FAULT(c, node, "an empty `url` asks nothing; write {schemes: [https], hosts: [example.com]}");
    part = yaml_member(node, "schemes");
    if (part != NULL && policy__is_list(c, part))
        code = policy__texts(c, part, sizeof *terms->schemes, take_scheme, &parts, &terms->scheme_count);
    terms->schemes = parts;
    parts = NULL;
    part = yaml_member(node, "hosts");
    if (code == CODE_OK && part != NULL && policy__is_list(c, part))
        code = policy__texts(c, part, sizeof *terms->hosts, take_host, &parts, &terms->host_count);
    terms->hosts = parts;
    part = yaml_member(node, "ports");
    return code == CODE_OK && part != NULL ? compile_ports(c, part, terms) : code;
}

/* ---- the value's side ---- */

struct url {
    struct span scheme;
    bool has_authority;
    bool has_userinfo;
    struct span host;
    struct span port; /* empty: none */
};

static bool is_visible(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] < 0x21 || text.at[i] > 0x7e || text.at[i] == '\\')
            return false;
    return true;
}

static bool split(struct span text, struct url *url)
{
    struct span rest;
    size_t end = 0;

    *url = (struct url){.scheme = span_cut(text, ':', &rest)};
    if (url->scheme.len == text.len || !is_scheme(url->scheme))
        return false;
    url->has_authority = span_starts_with(rest, SPAN_LIT("//"));
    if (!url->has_authority)
        return true;
    rest = span_part(rest, 2, SIZE_MAX);
    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?' && rest.at[end] != '#')
        end++;
    rest = span_part(rest, 0, end);
    url->has_userinfo = span_find(rest, '@') < rest.len;
    end = rest.len > 0 && rest.at[0] == '[' ? span_find(rest, ']') : 0;
    end += span_find(span_part(rest, end, SIZE_MAX), ':');
    url->host = span_part(rest, 0, end);
    url->port = span_part(rest, end + 1, SIZE_MAX);
    return true;
}

static enum truth scheme_truth(const struct url_terms *terms, const struct url *url)
{
    for (uint32_t i = 0; i < terms->scheme_count; i++)
        if (span_equals_nocase(terms->schemes[i], url->scheme))
            return TRUTH_TRUE;
    return terms->schemes == NULL ? TRUTH_TRUE : TRUTH_FALSE;
}

/* An address is what is listed as that address. A glob says nothing about addresses: `10.*` matches names too. */
static enum truth address_truth(const struct url_terms *terms, const struct address *address, struct span text)
{
    bool could = terms->hosts == NULL;

    for (uint32_t i = 0; i < terms->host_count; i++) {
        const struct host_term *term = &terms->hosts[i];

        if (term->is_address && address_equals(&term->address, address))
            return TRUTH_TRUE;
        could |= !term->is_address && glob_matches(term->text, text);
    }
    return could ? TRUTH_UNDECIDED : TRUTH_FALSE;
}

#define HOST_MAX 253 /* RFC 1035 */

static enum truth host_truth(const struct url_terms *terms, const struct url *url)
{
    struct address address;
    char lower[HOST_MAX];
    struct span host = span_of(lower, url->host.len);

    if (url->host.len == 0)
        return terms->hosts != NULL || usual_port(url->scheme) != 0 ? TRUTH_UNDECIDED : TRUTH_TRUE;
    if (url->host.len > sizeof lower)
        return TRUTH_UNDECIDED;
    for (size_t i = 0; i < host.len; i++)
        lower[i] = url->host.at[i] >= 'A' && url->host.at[i] <= 'Z' ? (char)(url->host.at[i] | 32) : url->host.at[i];
    if (read_address(host, &address))
        return address_truth(terms, &address, host);
    if (!is_name(host, "-_") || ends_in_number(host))
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < terms->host_count; i++)
        if (!terms->hosts[i].is_address && glob_matches(terms->hosts[i].text, host))
            return TRUTH_TRUE;
    return terms->hosts == NULL ? TRUTH_TRUE : TRUTH_FALSE;
}

static enum truth port_truth(const struct url_terms *terms, const struct url *url)
{
    uint64_t usual_one = usual_port(url->scheme), port = usual_one;

    if (usual_one != 0 && url->host.len == 0)
        return TRUTH_UNDECIDED;
    if (url->port.len > 0 && (num_u64(url->port, &port) != CODE_OK || port > 65535))
        return TRUTH_UNDECIDED;
    if (terms->any_port)
        return TRUTH_TRUE;
    if (terms->ports == NULL)
        return url->port.len == 0 || port == usual_one ? TRUTH_TRUE : TRUTH_FALSE;
    if (url->port.len == 0 && usual_one == 0)
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < terms->port_count; i++)
        if (terms->ports[i] == port)
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}

enum truth policy__op_url(const struct op *op, struct span text)
{
    struct url url;

    if (!is_visible(text) || !split(text, &url) || url.has_userinfo)
        return TRUTH_UNDECIDED;
    return truth_and(scheme_truth(op->url, &url), truth_and(host_truth(op->url, &url), port_truth(op->url, &url)));
}

bool policy__url_asks_ports(const struct op *op)
{
    return op->url->any_port || op->url->ports != NULL;
}

/* Globs may try a host at each of its places. */
uint64_t policy__url_cost(const struct op *op)
{
    return (uint64_t)op->url->host_count * (HOST_MAX / 16) + (op->url->scheme_count + op->url->port_count) / 4;
}
