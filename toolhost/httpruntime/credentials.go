package httpruntime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A Credential is sent to one host.
type Credential struct {
	Header string `json:"header"` // for example "Authorization"
	Value  string `json:"value"`  // for example "Bearer …"
}

// ReadCredentials reads the operator's file: a JSON object with a credential for each host. No
// other user may be able to read the file.
func ReadCredentials(file string) (map[string]Credential, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others; want the mode 0600", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var list map[string]Credential
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf(`%s is not {"HOST": {"header": "Authorization", "value": "Bearer …"}}`, file)
	}
	for host, c := range list {
		if c.Header == "" || c.Value == "" {
			return nil, fmt.Errorf("%s: %s needs header and value", file, host)
		}
	}
	return list, nil
}
