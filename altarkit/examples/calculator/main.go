// Command calculator is a runtime that executes two tools: add returns a sum, count streams numbers.
//
//	ALTAR_TOKEN=… go run ./altarkit/examples/calculator ws://127.0.0.1:8080/altar/v1/runtimes calculator
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"

	"gazetteer/altarkit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: calculator ws://HOST/altar/v1/runtimes RUNTIME-ID")
		os.Exit(2)
	}
	r := altarkit.Runtime{URL: os.Args[1], ID: os.Args[2], Token: os.Getenv("ALTAR_TOKEN"), Log: slog.Default()}
	r.Handle("add", func(_ context.Context, c *altarkit.Call) (any, error) {
		var in struct{ A, B int64 }
		if err := c.Decode(&in); err != nil {
			return nil, err
		}
		return map[string]int64{"sum": in.A + in.B}, nil
	})
	r.HandleStream("count", func(_ context.Context, c *altarkit.Call, send func(any) error) error {
		var in struct{ To int64 }
		if err := c.Decode(&in); err != nil {
			return err
		}
		for i := range in.To {
			if err := send(i + 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err := r.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
