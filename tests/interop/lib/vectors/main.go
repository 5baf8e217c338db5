// SPDX-License-Identifier: Apache-2.0

// Writes one file of Wycheproof's test vectors to standard output.
package main

import (
	"io/fs"
	"log"
	"os"

	"github.com/c2sp/wycheproof"
)

func main() {
	text, err := fs.ReadFile(wycheproof.TestVectors, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(text); err != nil {
		log.Fatal(err)
	}
}
