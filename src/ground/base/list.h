/* SPDX-License-Identifier: Apache-2.0 */
/* An intrusive doubly linked ring: the link is embedded in the thing that is listed.
 *
 * Threads: belongs to one thread.
 * Owns: nothing.
 * Lifetime: a thing is taken off before it is freed.
 * Errors: none. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link) - offsetof(type, member)))

/* The current one may be taken off within the loop. */
#define LIST_EACH(link, following, head) \
    for (link = (head)->next, following = link->next; link != (head); link = following, following = link->next)

static inline void list_init(struct list *head)
{
    head->next = head->prev = head;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

/* A zeroed link counts as not linked. */
static inline bool list_is_linked(const struct list *link)
{
    return link->next != NULL && link->next != link;
}

static inline void list_append(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_remove(struct list *link)
{
    if (link->next == NULL)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

#endif
