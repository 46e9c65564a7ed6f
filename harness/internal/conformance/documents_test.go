package conformance_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

// claim is a row of documents.yaml.
type claim struct {
	Document string   `yaml:"document"`
	Claim    string   `yaml:"claim"`
	Verdict  string   `yaml:"verdict"`
	By       []string `yaml:"by"`
	Test     string   `yaml:"test"`
	Note     string   `yaml:"note"`
	Session  []struct{ Send, Reply any }
}

// Every claim has a verdict, and what the verdict rests on exists.
func TestClaimsRestOnCasesAndTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../scenarios/documents.yaml")
	require.NoError(t, err)
	var file struct {
		Claims []claim `yaml:"claims"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))

	cases := casesByID()
	documents := make(map[string]int)
	for _, c := range file.Claims {
		documents[c.Document]++
		require.Contains(t, []string{"confirmed", "refuted", "release-dependent"}, c.Verdict, c.Claim)
		require.True(t, len(c.By)+len(c.Session) > 0 || c.Test != "", c.Claim)
		if c.Verdict != "confirmed" {
			require.NotEmpty(t, c.Note, c.Claim)
		}
		for _, id := range c.By {
			require.NotNil(t, cases[id], "%s: there is no case %s", c.Claim, id)
		}
		if c.Test != "" {
			requireTest(t, c.Test)
		}
	}
	require.Len(t, documents, 5)

	client := goredis.NewClient(&goredis.Options{Addr: redistest.Redis(t).Addr, Protocol: 2})
	defer client.Close()
	for _, c := range file.Claims {
		require.NoError(t, client.FlushDB(t.Context()).Err())
		for _, exchange := range c.Session {
			reply, err := client.Do(t.Context(), exchange.Send.([]any)...).Result()
			require.NoError(t, err, exchange.Send)
			require.Equal(t, fmt.Sprint(exchange.Reply), fmt.Sprint(reply), exchange.Send)
		}
	}
}

// requireTest looks for the function of package.Test in the tests of the project.
func requireTest(t *testing.T, name string) {
	t.Helper()
	pkg, function, _ := strings.Cut(name, ".")
	found := false
	err := filepath.WalkDir("../../..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") || filepath.Base(filepath.Dir(file)) != pkg {
			return err
		}
		text, err := os.ReadFile(file)
		found = found || regexp.MustCompile(`(?m)^func `+function+`\(`).Match(text)
		return err
	})
	require.NoError(t, err)
	require.True(t, found, "there is no test %s", name)
}
