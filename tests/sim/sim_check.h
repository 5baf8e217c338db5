/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulations share: a scene is played in every weather. */
#ifndef SIM_SIM_CHECK_H
#define SIM_SIM_CHECK_H

#include "fakes/cm.h"
#include "fakes/sim.h"

#include <stdlib.h>
#include <string.h>

static struct sim *sim;

static inline void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static inline void has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("\"%s\" is in:\n%s", part, text);
}

typedef void (*scene_fn)(void);

static inline void in_every_weather(scene_fn scene)
{
    for (int weather = SIM_PLAIN; weather < SIM_WEATHERS; weather++) {
        sim = malloc(sizeof *sim);
        assert_non_null(sim);
        sim_init(sim, (enum sim_weather)weather);
        sim_connect(sim);
        scene();
        sim_fini(sim);
        free(sim);
    }
}

#endif
