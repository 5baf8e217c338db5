// SPDX-License-Identifier: Apache-2.0
// Loaded before a server (--import): what it would send to an API on the network is written to $FETCH_LOG, and answered here.
import {appendFileSync} from 'node:fs';

globalThis.fetch = async (address, {method = 'GET', body} = {}) => {
    appendFileSync(process.env.FETCH_LOG, JSON.stringify({method, address: new URL(address).href, body}) + '\n');
    const object = {sha: 'a'.repeat(40), type: 'commit', url: 'https://api.example.com/'};
    return new Response(JSON.stringify({ok: true, ref: 'r', node_id: 'n', url: object.url, object}), {headers: {'content-type': 'application/json'}});
};
