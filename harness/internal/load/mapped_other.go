//go:build !unix

package load

import (
	"errors"
	"os"
)

// mapShared is not available.
func mapShared(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }
