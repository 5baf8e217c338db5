// SPDX-License-Identifier: Apache-2.0
// Reads an answer of a registry into the official registry's own types, which take no member that they do not know, and writes it
// anew: what it lost on the way is no member of theirs, or no value.
// usage: registry-types list|server < ANSWER
package main

import (
	"encoding/json"
	"fmt"
	"os"

	v0 "github.com/modelcontextprotocol/registry/pkg/api/v0"
)

func main() {
	var answer any = &v0.ServerResponse{}
	if len(os.Args) == 2 && os.Args[1] == "list" {
		answer = &v0.ServerListResponse{}
	}
	reader := json.NewDecoder(os.Stdin)
	reader.DisallowUnknownFields()
	err := reader.Decode(answer)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
