/* SPDX-License-Identifier: Apache-2.0 */
/* Names are resolved on a thread of their own into tables that do not change. 1.9 */
#include "fakes/cm.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/resolve.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A name service by script. */
static atomic_int answer;   /* the last byte of the only address of every name; 0: none */
static atomic_int asked;
static atomic_int changes;
static atomic_bool stuck;

static size_t look_up(const char *host, uint16_t port, struct sock_address *out, size_t max)
{
    char text[64];

    assert_true(max >= 1);
    atomic_fetch_add(&asked, 1);
    while (atomic_load(&stuck))
        usleep(1000);
    if (atomic_load(&answer) == 0 || strcmp(host, "nowhere") == 0)
        return 0;
    snprintf(text, sizeof text, "10.0.0.%d", atomic_load(&answer));
    assert_ok(sock_parse_ip(span_text(text), port, out));
    return 1;
}

static void on_changed(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static struct resolve_name name_of(const char *host, uint16_t port)
{
    struct resolve_name name = {.port = port};

    snprintf(name.host, sizeof name.host, "%s", host);
    return name;
}

static int reset(void **state)
{
    (void)state;
    atomic_store(&answer, 1);
    atomic_store(&asked, 0);
    atomic_store(&changes, 0);
    atomic_store(&stuck, false);
    return 0;
}

static struct resolver *start(const struct resolve_name *names, size_t count, unsigned every_ms)
{
    struct resolver_conf conf = {
        .every_ms = every_ms, .lookup = look_up, .changed = on_changed, .context = &changes};
    struct resolver *resolver;

    assert_ok(resolver_new(&resolver, &conf, names, count, NULL));
    return resolver;
}

/* What a name's first address looks like in the current table, or "none". */
static const char *first(struct resolver *resolver, const char *host, uint16_t port)
{
    static char text[SOCK_TEXT_BYTES];
    struct resolve_table *table = resolver_table(resolver);
    size_t count;
    const struct sock_address *addresses = resolve_find(table, span_text(host), port, &count);

    snprintf(text, sizeof text, "none");
    if (count > 0)
        sock_text(&addresses[0], text);
    resolve_table_unref(&table);
    assert_null(table);
    return text;
}

static void wait_until_changes(int at_least)
{
    for (int i = 0; atomic_load(&changes) < at_least && i < 60000; i++)
        usleep(1000);
    assert_true(atomic_load(&changes) >= at_least);
}

TEST_CASE_WITH(literals_are_there_at_once_and_names_follow, reset, NULL)
{
    struct resolve_name names[] = {name_of("127.0.0.1", 80), name_of("::1", 81), name_of("shop", 82),
                                   name_of("nowhere", 83)};
    struct resolver *resolver;

    atomic_store(&stuck, true);
    resolver = start(names, 4, 0);
    assert_string_equal(first(resolver, "127.0.0.1", 80), "127.0.0.1:80");
    assert_string_equal(first(resolver, "::1", 81), "[::1]:81");
    assert_string_equal(first(resolver, "shop", 82), "none");
    assert_false(resolver_wait(resolver, 10));
    atomic_store(&stuck, false);
    assert_true(resolver_wait(resolver, 60000));
    assert_string_equal(first(resolver, "shop", 82), "10.0.0.1:82");
    assert_string_equal(first(resolver, "nowhere", 83), "none");
    assert_string_equal(first(resolver, "shop", 99), "none"); /* nobody asked for that one */
    assert_int_equal(atomic_load(&changes), 1);
    resolver_free(&resolver);
    assert_null(resolver);
    resolver_free(&resolver);
}

TEST_CASE_WITH(a_new_address_makes_a_new_table_and_spares_the_old, reset, NULL)
{
    struct resolve_name name = name_of("shop", 82);
    struct resolver *resolver = start(&name, 1, 2);
    struct resolve_table *old;
    const struct sock_address *addresses;
    char text[SOCK_TEXT_BYTES];
    size_t count;

    assert_true(resolver_wait(resolver, 60000));
    old = resolver_table(resolver);
    atomic_store(&answer, 2);
    wait_until_changes(2);
    assert_string_equal(first(resolver, "shop", 82), "10.0.0.2:82");
    addresses = resolve_find(old, SPAN_LIT("shop"), 82, &count);
    assert_int_equal(count, 1);
    sock_text(&addresses[0], text);
    assert_string_equal(text, "10.0.0.1:82");
    resolver_free(&resolver);
    sock_text(&addresses[0], text); /* outlives the resolver */
    assert_string_equal(text, "10.0.0.1:82");
    resolve_table_unref(&old);
}

TEST_CASE_WITH(a_failing_lookup_keeps_the_last_addresses, reset, NULL)
{
    struct resolve_name name = name_of("shop", 82);
    struct resolver *resolver = start(&name, 1, 1);
    int seen;

    assert_true(resolver_wait(resolver, 60000));
    atomic_store(&answer, 0);
    seen = atomic_load(&asked);
    for (int i = 0; atomic_load(&asked) < seen + 3 && i < 60000; i++)
        usleep(1000);
    assert_true(atomic_load(&asked) >= seen + 3);
    assert_string_equal(first(resolver, "shop", 82), "10.0.0.1:82");
    assert_int_equal(atomic_load(&changes), 1);
    resolver_free(&resolver);
}

TEST_CASE_WITH(other_names_keep_what_is_known, reset, NULL)
{
    struct resolve_name before[] = {name_of("shop", 82), name_of("bank", 83)};
    struct resolve_name after[] = {name_of("bank", 83), name_of("mail", 84), name_of("10.9.9.9", 1)};
    struct resolver *resolver = start(before, 2, 0);

    assert_true(resolver_wait(resolver, 60000));
    atomic_store(&stuck, true);
    assert_ok(resolver_set(resolver, after, 3));
    assert_string_equal(first(resolver, "shop", 82), "none");
    assert_string_equal(first(resolver, "bank", 83), "10.0.0.1:83");
    assert_string_equal(first(resolver, "mail", 84), "none");
    assert_string_equal(first(resolver, "10.9.9.9", 1), "10.9.9.9:1");
    atomic_store(&stuck, false);
    assert_true(resolver_wait(resolver, 60000));
    assert_string_equal(first(resolver, "mail", 84), "10.0.0.1:84");
    resolver_free(&resolver);
}

TEST_CASE_WITH(a_stuck_lookup_does_not_keep_the_program, reset, NULL)
{
    struct resolve_name name = name_of("shop", 82);
    struct resolver *resolver;
    int64_t before;
    int changes_before;

    atomic_store(&stuck, true);
    resolver = start(&name, 1, 0);
    while (atomic_load(&asked) == 0)
        usleep(1000);
    before = clock_monotonic_us();
    resolver_free(&resolver);
    assert_true(clock_monotonic_us() - before < 30000000);
    changes_before = atomic_load(&changes);
    atomic_store(&stuck, false);
    usleep(50000); /* time for a wrong call, and for the thread to free what it has */
    assert_int_equal(atomic_load(&changes), changes_before);
}

TEST_CASE_WITH(the_system_knows_localhost, reset, NULL)
{
    struct resolver_conf conf = {.every_ms = 0};
    struct resolve_name name = name_of("localhost", 7);
    struct resolver *resolver;
    struct resolve_table *table;
    const struct sock_address *addresses;
    size_t count;

    assert_ok(resolver_new(&resolver, &conf, &name, 1, NULL));
    assert_true(resolver_wait(resolver, 20000));
    table = resolver_table(resolver);
    addresses = resolve_find(table, SPAN_LIT("localhost"), 7, &count);
    assert_in_range(count, 1, RESOLVE_ADDRESSES_MAX);
    assert_true(sock_is_loopback(&addresses[0]));
    assert_int_equal(sock_port(&addresses[0]), 7);
    resolve_table_unref(&table);
    resolver_free(&resolver);
}

TEST_CASE_WITH(without_memory_there_is_no_resolver, reset, NULL)
{
    struct resolver_conf conf = {.lookup = look_up};
    struct resolve_name name = name_of("shop", 82);
    struct resolver *resolver;
    struct why why;
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        assert_true(nth < 20);
        mem_fail_at(nth, 0);
        code = resolver_new(&resolver, &conf, &name, 1, &why);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || (code == CODE_NOMEM && resolver == NULL && why.text[0] != '\0'));
    }
    mem_fail_at(1, 0);
    assert_int_equal(resolver_set(resolver, &name, 1), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_true(resolver_wait(resolver, 60000)); /* the names are as before */
    assert_string_equal(first(resolver, "shop", 82), "10.0.0.1:82");
    resolver_free(&resolver);
}

TEST_MAIN(NULL, NULL)
