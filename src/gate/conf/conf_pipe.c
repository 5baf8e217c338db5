/* SPDX-License-Identifier: Apache-2.0 */
/* What of the configuration is for pipes: `pipe:`, and routes for them. */
#include "conf/conf_priv.h"

#include <sys/un.h>

bool conf__has_pipes(const struct yaml_node *root, bool alone)
{
    const struct yaml_node *routes = yaml_member(root, "routes");
    size_t pipes = 0;

    for (const struct yaml_node *node = routes != NULL ? routes->child : NULL; node != NULL; node = node->next)
        pipes += conf__is_pipe(node);
    return pipes > 0 && (!alone || pipes == routes->count);
}

void conf__check_pipe(struct conf_reader *reader, const struct yaml_node *root, const struct conf_pipe *pipe)
{
    const struct yaml_node *node = yaml_member(root, "pipe");

    if (conf__has_pipes(root, false) && span_text(pipe->socket).len >= sizeof ((struct sockaddr_un *)NULL)->sun_path)
        CONF_FAULT(reader, node != NULL ? node : root, "the path of the socket for pipes is longer than %zu bytes: %s; write a "
                   "shorter one, as in `pipe: {socket: /run/callgate.sock}`", sizeof ((struct sockaddr_un *)NULL)->sun_path - 1,
                   pipe->socket);
}
