// Checks a ledger with only golang.org/x/mod/sumdb: signed notes, inclusion and consistency proofs, and tiles.
// Reads a JSON object from standard input. Exits with 1 and a sentence if a check fails.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type record struct {
	Index int64
	Leaf  []byte
	Proof [][]byte
	Note  string
}

type input struct {
	Key         string
	Old         string
	New         string
	Consistency [][]byte
	Records     []record
	// A folder with the tiles, named as in their addresses.
	Tiles string
	// Leaves whose proofs the program computes itself, from the tiles.
	InTiles []record
}

func main() {
	var in input
	check("input", json.NewDecoder(os.Stdin).Decode(&in))
	older, newer := open(in.Key, in.Old), open(in.Key, in.New)
	check("consistency", tlog.CheckTree(hashes(in.Consistency), newer.N, newer.Hash, older.N, older.Hash))
	for _, r := range in.Records {
		tree := open(in.Key, r.Note)
		check("inclusion", tlog.CheckRecord(hashes(r.Proof), tree.N, tree.Hash, r.Index, tlog.RecordHash(r.Leaf)))
	}
	tiles := tlog.TileHashReader(newer, folder(in.Tiles))
	for _, r := range in.InTiles {
		proof, err := tlog.ProveRecord(newer.N, r.Index, tiles)
		check("tiles", err)
		check("tiles", tlog.CheckRecord(proof, newer.N, newer.Hash, r.Index, tlog.RecordHash(r.Leaf)))
	}
	fmt.Printf("%d records and %d in tiles of %d rows, %d rows before\n", len(in.Records), len(in.InTiles), newer.N, older.N)
}

func check(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func open(key, text string) tlog.Tree {
	verifier, err := note.NewVerifier(key)
	check("key", err)
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	check("note", err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check("size", err)
	root, err := base64.StdEncoding.DecodeString(lines[2])
	check("root", err)
	if lines[0] != verifier.Name() {
		check("origin", fmt.Errorf("%s", lines[0]))
	}
	return tlog.Tree{N: size, Hash: hashes([][]byte{root})[0]}
}

func hashes(list [][]byte) []tlog.Hash {
	out := make([]tlog.Hash, len(list))
	for i, bytes := range list {
		if len(bytes) != tlog.HashSize {
			check("hash", fmt.Errorf("has %d bytes", len(bytes)))
		}
		copy(out[i][:], bytes)
	}
	return out
}

// Tiles of C2SP tlog-tiles, whose height is always 8 and therefore not in their addresses.
type folder string

func (folder) Height() int                      { return 8 }
func (folder) SaveTiles([]tlog.Tile, [][]byte) {}

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		path := strings.TrimPrefix(tile.Path(), "tile/8/")
		bytes, err := os.ReadFile(filepath.Join(string(f), path))
		if err != nil {
			return nil, err
		}
		data[i] = bytes
	}
	return data, nil
}
