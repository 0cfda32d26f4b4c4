package changefeed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// The buckets of the file:
//
//	items   position (8 bytes, big endian) → terms and the item (JSON), see encodeItem
//	hosts   host, reversed              → hostState (JSON)
//	state   "cursor"                    → store.Cursor (JSON): up to where the store was followed
//	        "horizon"                   → position (8 bytes): cursors before it miss dropped items
var (
	itemsBucket = []byte("items")
	hostsBucket = []byte("hosts")
	stateBucket = []byte("state")
	cursorKey   = []byte("cursor")
	horizonKey  = []byte("horizon")
)

const fileFormat = 1

// openFile opens the file in dir. A damaged file is rebuilt, because all its content is derived
// from the store.
func openFile(ctx context.Context, dir string, log *slog.Logger, minFree int64) (*boltfile.File, error) {
	open := func() (*boltfile.File, error) {
		return boltfile.Open(ctx, dir, boltfile.Schema{
			Name: "changes.bolt", Noun: "change feed", Format: fileFormat,
			Buckets:      [][]byte{itemsBucket, hostsBucket, stateBucket},
			LastSequence: func(*bolt.Tx) (uint64, error) { return 0, nil },
		}, boltfile.Options{Log: log, MinFree: minFree})
	}
	file, err := open()
	if damaged, ok := errors.AsType[*boltfile.DamagedError](err); ok {
		log.Warn("the change feed is damaged and is made again from the store", "error", damaged)
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("remove the damaged change feed: %w", err)
		}
		file, err = open()
	}
	return file, err
}

// Compact replaces the file by a copy that holds nothing of the items which were removed: see
// [boltfile.File.CopyWhole].
func (f *Feed) Compact(ctx context.Context) error {
	return f.file.CopyWhole(ctx, "change feed", itemsBucket, hostsBucket, stateBucket)
}

func positionKey(position uint64) []byte { return binary.BigEndian.AppendUint64(nil, position) }

// encodeItem returns the stored form of an item: the length of its terms, as a number of two bytes,
// the terms that it is found by, each ended by a NUL, and the item as JSON. So the terms can be
// read without the JSON.
func encodeItem(i *Item) ([]byte, error) {
	var terms []byte
	for _, t := range i.listTerms() {
		terms = append(append(terms, t...), 0)
	}
	text, err := json.Marshal(i)
	if err != nil {
		return nil, fmt.Errorf("write a change: %w", err)
	}
	return append(append(binary.BigEndian.AppendUint16(nil, uint16(len(terms))), terms...), text...), nil
}

// splitValue returns the parts of a stored item.
func splitValue(value []byte) (terms string, text []byte, err error) {
	if len(value) < 2 || len(value) < 2+int(binary.BigEndian.Uint16(value)) {
		return "", nil, store.Corruptf("an item of the change feed is cut short")
	}
	end := 2 + int(binary.BigEndian.Uint16(value))
	return string(value[2:end]), value[end:], nil
}

func splitTerms(terms string) []string {
	return strings.FieldsFunc(terms, func(r rune) bool { return r == 0 })
}

func decodeItem(key, value []byte) (Item, error) {
	_, text, err := splitValue(value)
	if err != nil {
		return Item{}, err
	}
	i := Item{Position: binary.BigEndian.Uint64(key)}
	if err := json.Unmarshal(text, &i); err != nil {
		return Item{}, store.Corruptf("read an item of the change feed: %w", err)
	}
	return i, nil
}

// readFile reads cursor, horizon and the terms of all items.
func (f *Feed) readFile() error {
	p := newPostings()
	err := f.file.View("read the change feed", func(tx *bolt.Tx) error {
		if text := tx.Bucket(stateBucket).Get(cursorKey); text != nil {
			if err := json.Unmarshal(text, &f.saved); err != nil {
				return store.Corruptf("read the cursor of the change feed: %w", err)
			}
		}
		if h := tx.Bucket(stateBucket).Get(horizonKey); len(h) == 8 {
			f.horizon = binary.BigEndian.Uint64(h)
		}
		return tx.Bucket(itemsBucket).ForEach(func(key, value []byte) error {
			terms, _, err := splitValue(value)
			if err != nil {
				return err
			}
			p.add(binary.BigEndian.Uint64(key), splitTerms(terms))
			return nil
		})
	})
	f.postings = p
	f.position.MoveTo(f.saved)
	return err
}

// ReadItems returns the items at these positions that are still there, in their order.
func (f *Feed) ReadItems(positions []uint64) ([]Item, error) {
	items := make([]Item, 0, len(positions))
	err := f.file.View("read changes", func(tx *bolt.Tx) error {
		bucket := tx.Bucket(itemsBucket)
		for _, position := range positions {
			key := positionKey(position)
			value := bucket.Get(key)
			if value == nil {
				continue // removed meanwhile
			}
			item, err := decodeItem(key, value)
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return nil
	})
	return items, err
}

// writeFile runs a change of the file in one transaction. It is also allowed while the disk is
// full: the store then refuses writes, so that only earlier changes follow.
func (f *Feed) writeFile(ctx context.Context, work func(tx *boltfile.Tx) error) error {
	_, err := f.file.Write(ctx, boltfile.Request{Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, boltfile.CatchDamage("write the change feed", func() error { return work(tx) })
	}})
	if err != nil {
		return fmt.Errorf("write the change feed: %w", err)
	}
	return nil
}

// clearFile empties the file for a rebuild from a store whose deletions are forgotten up to
// horizon.
func (f *Feed) clearFile(ctx context.Context, horizon uint64) error {
	err := f.writeFile(ctx, func(tx *boltfile.Tx) error {
		for _, name := range [][]byte{itemsBucket, hostsBucket, stateBucket} {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(stateBucket).Put(horizonKey, positionKey(horizon))
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.postings, f.saved, f.horizon = newPostings(), store.Cursor{}, horizon
	f.edition++
	f.position.MoveTo(store.Cursor{})
	return nil
}
