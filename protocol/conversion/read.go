package conversion

import (
	"bytes"
	"errors"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// inputLimits are the limits for texts that a person converts. Published OpenAPI descriptions reach
// 10 MB, and none nests deeper than 128 levels.
var inputLimits = protocol.Limits{Bytes: 16 << 20, Depth: 128, Members: 20000, Number: 400}

// ReadText reads JSON, or YAML if the text is not JSON. YAML keys may be numbers, as the status
// codes in OpenAPI descriptions often are. A text over 16 MiB or 128 levels deep is refused. The
// error is a [*protocol.SyntaxError] with line and column.
func ReadText(text []byte) (*protocol.Node, error) {
	if err := protocol.CheckText(text, inputLimits); len(text) > inputLimits.Bytes {
		return nil, err
	}
	text, _ = protocol.TrimBOM(text)
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return yaml.ReadScalarKeys(text, inputLimits)
	}
	root, err := protocol.ReadJSON(text, inputLimits)
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok || syntax.Problem != protocol.Invalid {
		return root, err
	}
	if root, yamlErr := yaml.ReadScalarKeys(text, inputLimits); yamlErr == nil {
		return root, nil // YAML in flow style
	}
	return nil, err
}
