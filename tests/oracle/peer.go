// SPDX-License-Identifier: Apache-2.0

// 4.16: Go's own readers behind a pipe, for tests/oracle/differential: net/http and encoding/json. Questions and answers are those
// of peer.mjs.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"unicode/utf8"
)

type message struct {
	Method  string      `json:"method,omitempty"`
	Target  string      `json:"target,omitempty"`
	Status  int         `json:"status,omitempty"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
}

func text(s string) string { return hex.EncodeToString([]byte(s)) }

func headers(from http.Header) [][2]string {
	list := [][2]string{}
	for name, values := range from {
		for _, value := range values {
			list = append(list, [2]string{text(name), text(value)})
		}
	}
	return list
}

func readRequests(in []byte) []message {
	reader, found := bufio.NewReader(bytes.NewReader(in)), []message{}
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return found
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return found
		}
		list := headers(request.Header)
		if request.Host != "" {
			list = append(list, [2]string{text("Host"), text(request.Host)})
		}
		found = append(found, message{request.Method, text(request.RequestURI), 0, list, hex.EncodeToString(body)})
		if request.Close {
			return found
		}
	}
}

func readReply(in []byte, method string) []message {
	reader := bufio.NewReader(bytes.NewReader(in))
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil {
			return []message{}
		}
		if response.StatusCode >= 100 && response.StatusCode < 200 && response.StatusCode != 101 {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return []message{}
		}
		return []message{{"", "", response.StatusCode, headers(response.Header), hex.EncodeToString(body)}}
	}
}

func decode(in []byte) (value any, good bool) {
	decoder := json.NewDecoder(bytes.NewReader(in))
	decoder.UseNumber()
	if !utf8.Valid(in) || decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

func readJSON(in, canonical []byte) map[string]any {
	value, good := decode(in)
	if !good {
		return map[string]any{"same": nil}
	}
	ours, good := decode(canonical)
	return map[string]any{"same": good && reflect.DeepEqual(value, ours)}
}

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		var what string
		var first, second int
		if _, err := fmt.Fscanf(in, "%s %d %d\n", &what, &first, &second); err != nil {
			return
		}
		both := make([]byte, first+second)
		if _, err := io.ReadFull(in, both); err != nil {
			return
		}
		var answer any
		switch what {
		case "json":
			answer = readJSON(both[:first], both[first:])
		case "http-request":
			answer = map[string]any{"messages": readRequests(both)}
		default:
			answer = map[string]any{"messages": readReply(both, what)}
		}
		line, _ := json.Marshal(answer)
		out.Write(append(line, '\n'))
		out.Flush()
	}
}
