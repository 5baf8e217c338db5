// SPDX-License-Identifier: Apache-2.0
// A server of HTTP/2 over TLS: prints its port, then for each request the version, the path and how many connections there were.
import {readFileSync} from "node:fs";
import {createSecureServer} from "node:http2";

const [certificate, key] = process.argv.slice(2);
const server = createSecureServer({cert: readFileSync(certificate), key: readFileSync(key), allowHTTP1: true});
let connections = 0;
server.on("secureConnection", () => { connections += 1; });
server.on("request", (request, response) => {
    let length = 0;
    request.on("data", (part) => { length += part.length; });
    request.on("end", () => {
        console.log(`${request.httpVersion} ${request.url} ${length} ${connections}`);
        response.writeHead(200, {"content-type": "text/plain"});
        response.end("taken");
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
