//go:build !linux

package filetest

import "testing"

// runLinux runs the tests that need the system to fail: Linux alone lets a test do that.
func runLinux(*testing.T, Subject) {}
