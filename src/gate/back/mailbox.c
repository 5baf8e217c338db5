/* SPDX-License-Identifier: Apache-2.0 */
#include "back/legacy.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/lock.h"
#include "sse/writer.h"

#include <string.h>

#define BUCKETS 1024
#define MAIL_MAX_BYTES (64 * 1024) /* how much may wait that a stream was not able to take */

/* Where others leave what is to go on a stream. Only the pair's own worker touches the pair. */
struct mailbox {
    struct mailbox *next; /* in the bucket */
    struct lane *lane;
    struct pair *pair;
    struct buf mail;      /* events */
    bool is_replaced;     /* it is in no bucket any more */
    size_t name_len;
    char name[];          /* of the session */
};

/* One lock for all, held for a copy, is enough, since only HTTP+SSE uses mailboxes. */
struct mailboxes {
    pthread_mutex_t lock;
    struct mailbox *buckets[BUCKETS];
};

enum code mailboxes_new(struct mailboxes **mailboxes)
{
    *mailboxes = mem_zalloc(sizeof **mailboxes);
    if (*mailboxes == NULL)
        return CODE_NOMEM;
    hash_seed();
    lock_init(&(*mailboxes)->lock);
    return CODE_OK;
}

void mailboxes_free(struct mailboxes **mailboxes)
{
    struct mailboxes *gone = *mailboxes;

    *mailboxes = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        BUG_ON(gone->buckets[i] != NULL);
    pthread_mutex_destroy(&gone->lock);
    mem_free(gone);
}

static struct mailbox **find_box(struct mailboxes *mailboxes, struct span name)
{
    struct mailbox **at = &mailboxes->buckets[hash_span(name) % BUCKETS];

    while (*at != NULL && !span_equals(span_of((*at)->name, (*at)->name_len), name))
        at = &(*at)->next;
    return at;
}

/* Wakes the pair that reads the mail. Takes: lane: the caller's. */
static void wake(const struct lane *lane, struct mailbox *mailbox)
{
    if (mailbox->lane == lane) {
        pair_stir(mailbox->pair);
        return;
    }
    atomic_store(&mailbox->lane->has_mail, true);
    inbox_poke(&mailbox->lane->inbox); /* all lanes live equally long */
}

static void take_out(struct mailbox **at)
{
    struct mailbox *mailbox = *at;

    *at = mailbox->next;
    mailbox->is_replaced = true;
}

enum code mailbox_open(struct pair *pair, struct span session)
{
    struct mailboxes *mailboxes = pair->lane->mailboxes;
    struct mailbox *mailbox = mem_zalloc(sizeof *mailbox + session.len), *old, **at;

    if (mailbox == NULL)
        return CODE_NOMEM;
    mailbox->lane = pair->lane;
    mailbox->pair = pair;
    buf_init(&mailbox->mail, MAIL_MAX_BYTES);
    mailbox->name_len = session.len;
    memcpy(mailbox->name, session.at, session.len);
    lock_take(&mailboxes->lock);
    at = find_box(mailboxes, session);
    old = *at;
    if (old != NULL) {
        take_out(at);
        wake(pair->lane, old);
    }
    mailbox->next = *at;
    *at = mailbox;
    pair->exchange.mailbox = mailbox;
    lock_give(&mailboxes->lock);
    return CODE_OK;
}

void mailbox_close(struct pair *pair, struct buf *rest)
{
    struct mailboxes *mailboxes = pair->lane->mailboxes;
    struct mailbox *mailbox = pair->exchange.mailbox;

    if (mailbox == NULL)
        return;
    pair->exchange.mailbox = NULL;
    lock_take(&mailboxes->lock);
    if (!mailbox->is_replaced)
        take_out(find_box(mailboxes, span_of(mailbox->name, mailbox->name_len)));
    lock_give(&mailboxes->lock);
    if (rest != NULL && buf_add_span(rest, buf_peek(&mailbox->mail)) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
    buf_fini(&mailbox->mail);
    mem_free(mailbox);
}

enum code mailbox_put(struct lane *lane, struct span session, struct span json)
{
    struct mailboxes *mailboxes = lane->mailboxes;
    enum code code = CODE_NOT_FOUND;
    struct mailbox *mailbox;

    lock_take(&mailboxes->lock);
    mailbox = *find_box(mailboxes, session);
    if (mailbox != NULL) {
        struct buf_mark before = buf_mark(&mailbox->mail);

        sse_write_message(&mailbox->mail, NULL, json);
        code = buf_settle(&mailbox->mail, before); /* what is there stays, and a smaller message may still fit */
    }
    if (code == CODE_OK)
        wake(lane, mailbox);
    lock_give(&mailboxes->lock);
    return code;
}

enum code mailbox_take(struct pair *pair, struct buf *out)
{
    struct mailboxes *mailboxes = pair->lane->mailboxes;
    struct mailbox *mailbox = pair->exchange.mailbox;
    enum code code;

    lock_take(&mailboxes->lock);
    code = buf_add_span(out, buf_peek(&mailbox->mail));
    if (code == CODE_OK)
        buf_fini(&mailbox->mail);
    if (code == CODE_OK && mailbox->is_replaced)
        code = CODE_EXISTS;
    lock_give(&mailboxes->lock);
    return code;
}

void mailbox_woken(struct lane *lane)
{
    if (!atomic_exchange(&lane->has_mail, false))
        return;
    for (struct list *link = lane->worker.all.next; link != &lane->worker.all; link = link->next) {
        struct pair *pair = pair_of(LIST_ENTRY(link, struct connection, all));

        if (pair != NULL && pair->exchange.mailbox != NULL)
            pair_stir(pair);
    }
}
