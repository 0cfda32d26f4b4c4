package main

import (
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode"

	_ "modernc.org/sqlite" // the driver: SQLite as Go, without cgo

	"gazetteer/document"
)

// A reference is the same texts in SQLite FTS5 with its Porter stemmer, ranked by
// its BM25: what a program would use that has no index of its own. It answers
// with ids; nothing is grouped, shown or explained.
type reference struct{ db *sql.DB }

func openReference(path string) (*reference, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
		"CREATE VIRTUAL TABLE operations USING fts5(act, what, ctx, content='', tokenize='porter unicode61')",
	} {
		if _, err := db.Exec(statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	return &reference{db}, nil
}

func (r *reference) close() error { return r.db.Close() }

func (r *reference) put(docs []*document.Document) error {
	tx, err := r.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	insert, err := tx.Prepare("INSERT INTO operations(act, what, ctx) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	for _, d := range docs {
		for _, o := range d.Operations {
			var parameters []string
			for _, p := range o.Parameters {
				parameters = append(parameters, p.Name)
			}
			about := d.Service.Name + " " + d.Service.Description + " " + strings.Join(parameters, " ")
			if _, err := insert.Exec(o.Verb+" "+o.Path, o.Intent, about); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// times asks the queries as any of their words, once to warm up and once more.
func (r *reference) times(queries []string) (times, error) {
	var taken []time.Duration
	for round := range 2 {
		for _, q := range queries {
			words := strings.FieldsFunc(strings.ToLower(q), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
			if len(words) == 0 {
				continue
			}
			begin := time.Now()
			if err := r.ask(`"` + strings.Join(words, `" OR "`) + `"`); err != nil {
				return times{}, fmt.Errorf("%q: %w", q, err)
			}
			if round > 0 {
				taken = append(taken, time.Since(begin))
			}
		}
	}
	return timesOf(taken), nil
}

func (r *reference) ask(match string) error {
	rows, err := r.db.Query("SELECT rowid FROM operations WHERE operations MATCH ? ORDER BY rank LIMIT 10", match)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
	}
	return rows.Err()
}
