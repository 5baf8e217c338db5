/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_priv.h"
#include "os/clock.h"

#define MAX_LISTENERS 64

void conf__warn_of_old_lists(struct conf_reader *reader, const struct yaml_node *node, const struct tls_context *context)
{
    int64_t until_us = tls_lists_until_us(context);
    char until[CLOCK_TEXT_BYTES];

    if (until_us > clock_wall_us())
        return;
    clock_text(until_us, until);
    CONF_WARN(reader, node, "a list of revoked certificates has run out at %s: no certificate of its authority is accepted "
              "until a newer one is put in its place and the configuration is read again (SIGHUP)", until);
}

static void warn_of_old_staple(struct conf_reader *reader, const struct yaml_node *node, const struct tls_context *context)
{
    conf__warn_of_old_lists(reader, node, context);
    if (tls_staple_until_us(context) <= clock_wall_us())
        CONF_WARN(reader, yaml_member(node, "ocsp"), "this OCSP response has run out, so agents get none; put a newer one in "
                  "its place and have the configuration read again (SIGHUP)");
}

static void read_tls(struct conf_reader *reader, const struct yaml_node *node, struct proxy_listen *listen)
{
    struct tls_server_conf tls = {0};
    struct why why = {""};
    enum code code;

    if (!conf__read(reader, node, conf__tls, "`tls`", &tls))
        return;
    (void)conf__need(reader, node, "certificate", "gate.pem");
    (void)conf__need(reader, node, "key", "gate.key");
    if (yaml_member(node, "client_certificate") != NULL && tls.client_ca == NULL)
        CONF_FAULT(reader, yaml_member(node, "client_certificate"),
                   "client certificates cannot be checked without `client_ca`; write `client_ca: agents-ca.pem`");
    if (yaml_member(node, "client_crl") != NULL && tls.client_ca == NULL)
        CONF_FAULT(reader, yaml_member(node, "client_crl"),
                   "lists of revoked certificates have no meaning without `client_ca`; write `client_ca: agents-ca.pem`");
    if (tls.certificate == NULL || tls.key == NULL || (tls.client_crls == NULL && yaml_member(node, "client_crl") != NULL))
        return;
    reader->has_client_ca = reader->has_client_ca || tls.client_ca != NULL;
    code = tls_server_new(&tls, &listen->tls, &why);
    if (code == CODE_NOMEM)
        reader->out_of_memory = true;
    else if (code != CODE_OK)
        CONF_FAULT(reader, node, "%s", why.text);
    else
        warn_of_old_staple(reader, node, listen->tls);
}

static void check_openness(struct conf_reader *reader, const struct yaml_node *node, const struct proxy_listen *listen)
{
    bool insecure = conf__bool(reader, node, "insecure"), has_tls = yaml_member(node, "tls") != NULL;

    if (insecure && has_tls)
        CONF_FAULT(reader, yaml_member(node, "insecure"), "`insecure` has no meaning beside `tls`; leave one of them out");
    if (has_tls || listen->address.len == 0 || sock_is_loopback(&listen->address))
        return;
    if (insecure)
        CONF_WARN(reader, node, "plain HTTP off loopback: keys, arguments and replies can be read on the way; give it `tls`");
    else
        CONF_FAULT(reader, node, "plain HTTP off loopback shows keys, arguments and replies to everyone on the way; give it "
                   "`tls`, or accept that with `insecure: true`");
}

static void read_listen(struct conf_reader *reader, const struct yaml_node *node, struct proxy_listen *listen)
{
    const struct yaml_node *address;
    struct why why = {""};

    if (!conf__read(reader, node, conf__listener, "a listener", listen))
        return;
    address = conf__need(reader, node, "address", "'127.0.0.1:8080'");
    if (address != NULL && conf__text(reader, address).at != NULL &&
        sock_parse(address->text, &listen->address, &why) != CODE_OK)
        CONF_FAULT(reader, address, "%s", why.text);
    if (yaml_member(node, "tls") != NULL)
        read_tls(reader, yaml_member(node, "tls"), listen);
    check_openness(reader, node, listen);
}

static void read_listens(struct conf_reader *reader, const struct yaml_node *list)
{
    struct proxy_conf *proxy = reader->proxy;
    size_t at = 0;

    for (const struct yaml_node *node = list->child; node != NULL; node = node->next, at++) {
        struct proxy_listen *listen = &proxy->listens[at];

        read_listen(reader, node, listen);
        for (size_t i = 0; i < at; i++)
            if (listen->address.len > 0 && sock_port(&listen->address) != 0 &&
                sock_equals(&proxy->listens[i].address, &listen->address))
                CONF_FAULT(reader, node, "this address is listened on already; leave one of the two out");
    }
}

/* Without `listen` the gate listens on loopback, where some route takes what comes over the network. The pipes' socket is the
 * last of the listeners. */
void conf__listens(struct conf_reader *reader, const struct yaml_node *root, const struct conf_pipe *pipe)
{
    struct proxy_conf *proxy = reader->proxy;
    const struct yaml_node *list = conf__list(reader, root, "listen", MAX_LISTENERS);
    bool on_loopback = yaml_member(root, "listen") == NULL && !conf__has_pipes(root, true);

    proxy->listens = conf__array(reader, (list != NULL ? list->count : 0) + 2, sizeof *proxy->listens);
    if (reader->out_of_memory)
        return;
    proxy->listen_count = on_loopback ? 1 : list != NULL ? list->count : 0;
    if (on_loopback && sock_parse_ip(SPAN_LIT("127.0.0.1"), 8080, &proxy->listens[0].address) != CODE_OK)
        reader->out_of_memory = true;
    if (list != NULL)
        read_listens(reader, list);
    if (conf__has_pipes(root, false) && pipe->socket != NULL)
        proxy->listens[proxy->listen_count++] = (struct proxy_listen){
            .socket = conf__copy(reader, span_text(pipe->socket)).at, .is_shared = pipe->is_shared};
}
