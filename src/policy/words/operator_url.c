/* SPDX-License-Identifier: Apache-2.0 */
/* url: where a URL leads. Clients read debatable URLs in different ways, so that those are undecided; policies/LANGUAGE.md says
 * which. */
#include "words/file_place.h"
#include "words/operator_priv.h"
#include "words/public.h"
#include "texts/reading.h"
#include "policy/variable.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "base/num.h"

#include <stdio.h>

struct host_term {
    struct span text; /* in lower case; a name or a glob */
    bool is_address, varies;
    struct address address;
};

struct url_terms {
    const struct span *schemes; /* in lower case */
    const struct host_term *hosts;
    const uint64_t *ports;
    uint32_t scheme_count, host_count, port_count;
    bool any_port;
    const struct file_places *path; /* NULL: any */
    bool no_query;
    const struct public_space *to_public; /* NULL: it may lead anywhere */
};

/* Takes: a host as it stands in a URL, IPv6 in brackets. Sets *address to what it reaches, so that a forbidden IPv4 address
 * cannot be reached as an IPv6 address that maps it. */
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

static void take_scheme(struct compiler *c, const struct yaml_node *text, void *part)
{
    if (!reading_is_scheme(text->text))
        FAULT(c, text, "`%.*s` is no scheme; write it without `:` and `//`, as in [https]", SPAN_ARG(text->text));
    *(struct span *)part = compiler_lower(c, text->text);
}

static const char *wrong_with_host(struct span host, bool is_address)
{
    if (is_address)
        return NULL;
    if (host.len > 0 && host.at[0] == '[')
        return "is no IPv6 address; write it as in '[2001:db8::1]'";
    if (span_find(host, ':') < host.len || span_find(host, '/') < host.len || span_find(host, '@') < host.len)
        return "is more than a host; write the host alone, in brackets if it is an IPv6 address; schemes, ports and the path "
               "have words of their own";
    if (!reading_is_name(host, "-_*?"))
        return "is no host; write letters, digits, `-`, `_` and dots, `*` and `?` for parts, other letters as xn--...";
    if (glob_is_literal(host) && reading_ends_in_number(host))
        return "is no host that all clients read alike; write an IPv4 address as four plain numbers, ranges with `cidr`";
    return NULL;
}

static void take_host(struct compiler *c, const struct yaml_node *text, void *part)
{
    static const struct question anybody = {.principal = SPAN_LIT("x"), .tenant = SPAN_LIT("x"), .upstream = SPAN_LIT("x"),
                                            .agent = SPAN_LIT("x")};
    struct host_term *term = part;
    struct span host = text->text;
    const char *wrong;

    term->varies = compiler_varies(c, text);
    if (term->varies && variable_say(&anybody, text->text, VARIABLE_LABEL, &c->policy->arena, &host) != CODE_OK)
        c->no_memory = true;
    term->is_address = read_address(host, &term->address);
    wrong = wrong_with_host(host, term->is_address);
    if (wrong != NULL)
        FAULT(c, text, "`%.*s` %s", SPAN_ARG(text->text), wrong);
    term->text = compiler_lower(c, text->text);
}

static void compile_ports(struct compiler *c, const struct yaml_node *list, struct url_terms *terms)
{
    uint64_t *ports;

    terms->any_port = list->type == YAML_STRING && span_is(list->text, "any");
    if (terms->any_port)
        return;
    terms->ports = ports = compiler_alloc(c, list->count, sizeof *ports);
    if (list->type != YAML_LIST)
        FAULT(c, list, "`ports` is a list of numbers or the word any; write [443, 8443] or any");
    else if (list->count == 0)
        FAULT(c, list, "nothing is in an empty list; name at least one");
    for (const struct yaml_node *port = list->child; ports != NULL && port != NULL; port = port->next) {
        uint64_t *number = &ports[terms->port_count++];

        if (port->type != YAML_INT || num_u64(port->json, number) != CODE_OK || *number == 0 || *number > 65535)
            FAULT(c, port, "this is no port; write a number from 1 to 65535");
    }
}

static void compile_rest(struct compiler *c, const struct yaml_node *node, struct url_terms *terms)
{
    static const char *const queries[] = {"none", NULL};
    const struct yaml_node *path = yaml_member(node, "path"), *query = yaml_member(node, "query");

    if (path != NULL)
        terms->path = compiler_file_places(c, path);
    for (uint32_t i = 0; terms->path != NULL && i < terms->path->count; i++)
        for (uint32_t k = 0; k < terms->path->place[i]->under.count; k++)
            if (!span_starts_with(terms->path->place[i]->under.folder[k].text, SPAN_LIT("/")))
                FAULT(c, path, "`%.*s` is relative, and the path of a URL begins with /; write it so, as in {under: /docs}",
                      SPAN_ARG(terms->path->place[i]->under.folder[k].text));
    terms->no_query = query != NULL && compiler_word(c, query, queries) == 0;
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"schemes", "hosts", "ports", "path", "query", "to", NULL};
    static const char *const leads[] = {"public", NULL};
    const struct yaml_node *schemes = yaml_member(node, "schemes"), *hosts = yaml_member(node, "hosts");
    const struct yaml_node *ports = yaml_member(node, "ports"), *to = yaml_member(node, "to");
    struct url_terms *terms = compiler_alloc(c, 1, sizeof *terms);

    op->written = compiler_written(c, node);
    op->terms = terms;
    if (terms == NULL || !compiler_is_map_of(c, node, known, "`url`"))
        return;
    if (node->count == 0)
        FAULT(c, node, "an empty `url` asks nothing; write {schemes: [https], hosts: [example.com]}");
    if (compiler_is_list(c, schemes))
        terms->schemes = compiler_texts(c, schemes, sizeof *terms->schemes, take_scheme, &terms->scheme_count);
    if (compiler_is_list(c, hosts))
        terms->hosts = compiler_texts(c, hosts, sizeof *terms->hosts, take_host, &terms->host_count);
    for (uint32_t i = 0; terms->hosts != NULL && i < terms->host_count; i++)
        op->varies |= terms->hosts[i].varies;
    if (ports != NULL)
        compile_ports(c, ports, terms);
    compile_rest(c, node, terms);
    op->varies |= terms->path != NULL && terms->path->varies;
    if (to != NULL && compiler_word(c, to, leads) == 0)
        terms->to_public = compiler_public(c);
}

/* ---- the value's side ---- */

/* Who reads `file://example.com/etc/passwd` may leave the host out. So where no scheme is named, only those by which clients
 * ask a host lead out for sure. */
static enum truth scheme_truth(const struct url_terms *terms, const struct url_parts *url)
{
    if (terms->schemes == NULL && terms->to_public != NULL && reading_usual_port(url->scheme) == 0)
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < terms->scheme_count; i++)
        if (span_equals_nocase(terms->schemes[i], url->scheme))
            return TRUTH_TRUE;
    return terms->schemes == NULL ? TRUTH_TRUE : TRUTH_FALSE;
}

static enum truth term_truth(struct rule_walk *walk, const struct host_term *term, struct span host)
{
    struct span said = term->text;

    if (term->is_address)
        return TRUTH_FALSE;
    if (term->varies && !variable_said(walk, term->text, VARIABLE_LABEL, &said))
        return TRUTH_UNDECIDED;
    return truth_of(glob_matches(said, host));
}

/* An address holds where it is listed as an address, or where all that are public are meant. A glob says nothing about
 * addresses, as `10.*` matches names too. */
static enum truth address_truth(struct rule_walk *walk, const struct url_terms *terms, const struct address *address,
                                struct span text)
{
    bool could = terms->hosts == NULL;

    if (terms->to_public != NULL && (could || !public_holds_address(terms->to_public, address)))
        return truth_of(public_holds_address(terms->to_public, address));
    for (uint32_t i = 0; i < terms->host_count; i++) {
        const struct host_term *term = &terms->hosts[i];

        if (term->is_address && address_equals(&term->address, address))
            return TRUTH_TRUE;
        could |= term_truth(walk, term, text) != TRUTH_FALSE;
    }
    return could ? TRUTH_UNDECIDED : TRUTH_FALSE;
}

#define HOST_MAX 253 /* RFC 1035 */

static enum truth host_truth(struct rule_walk *walk, const struct url_terms *terms, const struct url_parts *url)
{
    enum truth truth = terms->hosts == NULL ? TRUTH_TRUE : TRUTH_FALSE;
    struct address address;
    char lower[HOST_MAX];
    struct span host;

    if (url->host.len == 0)
        return terms->hosts != NULL || terms->to_public != NULL || reading_usual_port(url->scheme) != 0 ? TRUTH_UNDECIDED
                                                                                                        : TRUTH_TRUE;
    if (url->host.len > sizeof lower)
        return TRUTH_UNDECIDED;
    host = ascii_lower_all(url->host, lower);
    if (read_address(host, &address))
        return address_truth(walk, terms, &address, host);
    if (!reading_is_name(host, "-_") || reading_ends_in_number(host))
        return TRUTH_UNDECIDED;
    for (uint32_t i = 0; i < terms->host_count && truth != TRUTH_TRUE; i++)
        truth = truth_or(truth, term_truth(walk, &terms->hosts[i], host));
    return terms->to_public != NULL && !public_holds_name(terms->to_public, host) ? TRUTH_FALSE : truth;
}

static enum truth port_truth(const struct url_terms *terms, const struct url_parts *url)
{
    uint64_t usual_one = reading_usual_port(url->scheme), port = usual_one;

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

/* The path behind the host as it is written. A server may end a step at `;` before it climbs, so that such a path is
 * undecided. */
static enum truth path_truth(struct rule_walk *walk, const struct url_terms *terms, const struct url_parts *url, bool opening)
{
    size_t end = 0;
    struct span path;

    if (terms->path == NULL)
        return TRUTH_TRUE;
    while (end < url->rest.len && url->rest.at[end] != '?' && url->rest.at[end] != '#')
        end++;
    path = span_part(url->rest, 0, end);
    if (span_find(path, ';') < path.len)
        return TRUTH_UNDECIDED;
    if (path.len == 0 && url->has_authority)
        path = SPAN_LIT("/"); /* RFC 3986, 6.2.3 */
    return file_places_truth(walk, terms->path, path, opening);
}

/* What stands behind `#` is no query, and some clients send it. */
static enum truth query_truth(const struct url_terms *terms, const struct url_parts *url)
{
    size_t query = span_find(url->rest, '?');

    if (!terms->no_query || query == url->rest.len)
        return TRUTH_TRUE;
    return span_find(url->rest, '#') < query ? TRUTH_UNDECIDED : TRUTH_FALSE;
}

static enum truth url(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct url_parts url;
    enum truth truth;

    if (!ascii_is_all(text, "!-[]-~") || !reading_split(text, &url) || url.has_userinfo)
        return TRUTH_UNDECIDED;
    truth = truth_and(scheme_truth(op->terms, &url),
                      truth_and(host_truth(walk, op->terms, &url), port_truth(op->terms, &url)));
    return truth_and(truth, truth_and(path_truth(walk, op->terms, &url, op->opening), query_truth(op->terms, &url)));
}

/* A glob may be tried at each place of a host. */
static uint64_t cost(const struct op *op, struct span text)
{
    const struct url_terms *terms = op->terms;

    return op_text_cost(op, text) + (uint64_t)terms->host_count * (HOST_MAX / 16) +
           (terms->scheme_count + terms->port_count) / 4 + (terms->path != NULL ? file_places_cost(terms->path, text) : 0) +
           (terms->to_public != NULL ? public_entries(terms->to_public) / 4 : 0);
}

static void sample(const struct op *op, struct samples *samples)
{
    const struct url_terms *terms = op->terms;

    samples->written(samples, op->written, "https://", "/");
    samples->written(samples, op->written, "http://", "/");
    if (terms->no_query)
        samples->written(samples, op->written, "https://", "/?x");
    for (uint32_t i = 0; terms->path != NULL && i < terms->path->count; i++)
        for (uint32_t k = 0; k < terms->path->place[i]->under.count; k++) {
            char after[256];
            int len = snprintf(after, sizeof after, "%.*s/x", SPAN_ARG(terms->path->place[i]->under.folder[k].text));

            if (len > 0 && (size_t)len < sizeof after)
                samples->written(samples, op->written, "https://", after);
        }
    if (terms->to_public == NULL)
        return;
    samples->json(samples, SPAN_LIT("\"https://www.example.org/\""));
    samples->json(samples, SPAN_LIT("\"http://169.254.169.254/\""));
    samples->json(samples, SPAN_LIT("\"http://127.0.0.1.nip.io/\""));
}

/* A closing `url` without ports lets calls to the same host on another port pass. */
static const char *closing_doubt(const struct op *op)
{
    const struct url_terms *terms = op->terms;

    if (terms->to_public != NULL)
        return "this closes what leads out into the internet and lets what leads inside pass; write not: {..., url: {to: "
               "public}}";
    return terms->any_port || terms->ports != NULL
               ? NULL
               : "a `url` without `ports` holds for the scheme's default port only, so that another gets around it; write "
                 "`ports: any`, or the ports that are meant";
}

const struct operator operator__url = {
    .word = "url", .types = TYPES_SCALAR, .compile = compile, .of_text = url, .cost = cost, .sample = sample,
    .closing_doubt = closing_doubt,
};
