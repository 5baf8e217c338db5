// SPDX-License-Identifier: Apache-2.0

// 10.1, 10.2: how servers in Go find a file by a text, for tests/oracle/spellings; questions and answers are those of opener.mjs.
package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

func decoded(text string, err error) string {
	if err != nil {
		return ""
	}
	once, err := url.PathUnescape(text)
	if err != nil {
		return ""
	}
	return once
}

func readings(text string) []string {
	once := decoded(text, nil)
	plain := strings.TrimPrefix(text, "file://")
	found := []string{text, strings.TrimSpace(text), strings.TrimSpace(once), filepath.Clean(text), once, filepath.Clean(once), decoded(filepath.Clean(text), nil), decoded(once, nil),
		filepath.Clean(decoded(once, nil)), plain, filepath.Clean(plain), decoded(plain, nil), filepath.Clean(decoded(plain, nil))}
	if parsed, err := url.Parse(text); err == nil {
		found = append(found, parsed.Path, path.Clean(parsed.Path), parsed.EscapedPath(), filepath.FromSlash(parsed.JoinPath().Path), parsed.Opaque)
		base := url.URL{Scheme: "file", Path: "/"}
		found = append(found, base.ResolveReference(parsed).Path)
	}
	return found
}

func main() {
	var texts []string
	if json.NewDecoder(os.Stdin).Decode(&texts) != nil {
		os.Exit(2)
	}
	answers := [][]string{}
	for _, text := range texts {
		seen, places := map[string]bool{}, []string{}
		add := func(place string) {
			if !seen[place] {
				seen[place] = true
				places = append(places, place)
			}
		}
		for _, file := range readings(text) {
			if strings.HasPrefix(file, "/") {
				add(filepath.Clean(file))
			}
			if content, err := os.ReadFile(file); err == nil {
				add(string(content))
			}
		}
		answers = append(answers, places)
	}
	_ = json.NewEncoder(os.Stdout).Encode(answers)
}
