package driver_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"gazetteer/protocol/a2a/driver"
)

func ExampleRun() {
	cases := strings.NewReader(`{"id":1,"op":"canonicalize","input":{"json_b64":"MS41"}}` + "\n")
	if err := driver.Run(context.Background(), cases, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"id":1,"profile":"strict","verdict":"reject","status":400,"error":"Bad Request","rule":"float","detail":"a number has a fraction or an exponent at byte 0"}
	// {"id":1,"profile":"wire","verdict":"reject","status":400,"error":"Bad Request","rule":"float","detail":"a number has a fraction or an exponent at byte 0"}
}
