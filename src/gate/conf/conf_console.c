/* SPDX-License-Identifier: Apache-2.0 */
/* What `callgate console` is, and as whom it asks providers. The gate checks that, and reads none of its secrets. */
#include "conf/conf_priv.h"
#include "http/authority.h"
#include "os/sock.h"

#define MAX_SCOPES 64

/* The gate looks whether a secret is named, and leaves it where it is. */
static void read_secret(struct conf_reader *reader, const struct yaml_node *secret, struct conf_console_client *client)
{
    if (reader->proxy == NULL)
        client->secret = conf__secret_of(reader, secret, "console.secret");
    else if (conf__map(reader, secret, conf__notify_secret, "`secret`") &&
             conf__need(reader, secret, "file", "console.secret") != NULL)
        (void)conf__path(reader, secret, "file", NULL);
}

static void read_client(struct conf_reader *reader, const struct yaml_node *root, const struct yaml_node *node,
                        struct conf_console_client *client)
{
    const struct yaml_node *map = NULL;
    size_t number;

    if (!conf__map(reader, node, conf__console_client, "a client"))
        return;
    client->scope_count = conf__texts(reader, node, "scopes", MAX_SCOPES, conf__text, &client->scopes);
    if (yaml_member(node, "secret") != NULL)
        read_secret(reader, yaml_member(node, "secret"), client);
    if (conf__need(reader, node, "provider", "corp") != NULL)
        client->provider = conf__text_of(reader, node, "provider");
    if (conf__need(reader, node, "client", "callgate-console") != NULL)
        client->client = conf__text_of(reader, node, "client");
    if (client->provider.at != NULL)
        map = conf__find_provider(reader, root, yaml_member(node, "provider"), client->provider, &number, &client->by);
    if (map != NULL && reader->proxy == NULL)
        conf__provider_tls(reader, map, &client->by);
}

static bool says(const struct yaml_node *map, const char *key, struct span text)
{
    const struct yaml_node *node = yaml_member(map, key);

    return node != NULL && node->type == YAML_STRING && span_equals(node->text, text);
}

/* Takes: count: of those before it. */
static void check_client(struct conf_reader *reader, const struct yaml_node *root, const struct yaml_node *node,
                         const struct conf_console_client *clients, size_t count)
{
    const struct yaml_node *people = yaml_member(root, "people"), *logins = yaml_member(people, "logins");
    bool is_taken = logins == NULL; /* else the gate's own file says it */

    for (size_t i = 0; i < count; i++)
        if (span_equals(clients[i].provider, clients[count].provider))
            CONF_FAULT(reader, node, "the console has a client of this provider already; leave one of the two out");
    for (const struct yaml_node *one = logins != NULL ? logins->child : NULL; one != NULL; one = one->next)
        is_taken = is_taken || (says(one, "provider", clients[count].provider) && says(one, "console", clients[count].client));
    if (!is_taken && clients[count].client.at != NULL)
        CONF_FAULT(reader, node, "nobody is known by a login of this client; write `console: %.*s` into the login by this "
                   "provider in `people: {logins}`", SPAN_ARG(clients[count].client));
}

static struct span without_brackets(struct span name)
{
    return span_starts_with(name, SPAN_LIT("[")) ? span_part(name, 1, name.len - 2) : name;
}

/* Without TLS it is this machine's alone, as are the links that lead there. */
static bool is_of_a_console(const char *url)
{
    struct http_origin origin;

    return http_origin_read(span_text(url), &origin) && origin.authority.name.len <= 256 &&
           (span_is(origin.scheme, "https") ||
            (span_is(origin.scheme, "http") && sock_host_is_loopback(without_brackets(origin.authority.name))));
}

void conf__console_of(struct conf_reader *reader, const struct yaml_node *root, struct conf_console *console)
{
    const struct yaml_node *node = yaml_member(root, "console"), *list;

    *console = (struct conf_console){.address = NULL};
    if (node == NULL || !conf__read(reader, node, conf__console, "`console`", console))
        return;
    if (console->url != NULL && !is_of_a_console(console->url))
        CONF_FAULT(reader, yaml_member(node, "url"), "`%s` is no URL of a console; write 'https://gate.example.com', without a "
                   "path", console->url);
    list = conf__list(reader, node, "clients", CONF_CONSOLE_CLIENTS);
    console->clients = list != NULL ? conf__array(reader, list->count, sizeof *console->clients) : NULL;
    for (const struct yaml_node *one = console->clients != NULL ? list->child : NULL; one != NULL; one = one->next) {
        read_client(reader, root, one, &console->clients[console->client_count]);
        check_client(reader, root, one, console->clients, console->client_count++);
    }
}
