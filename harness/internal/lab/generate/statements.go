package main

import "github.com/dq-bench/dq-bench/docs/spec"

// statementVector is a statement, for reports of other tools.
type statementVector struct {
	spec.Citation
	Releases   string   `json:"releases"`
	Cases      []string `json:"cases"`
	Recordings []string `json:"recordings"`
	Scripts    []string `json:"scripts,omitempty"`
}

func statementVectors() ([]statementVector, error) {
	all := spec.All().Statements
	vectors := make([]statementVector, len(all))
	for i, cited := range spec.Cite(all) {
		s := all[i]
		vectors[i] = statementVector{cited, s.Releases.String(), s.Cases, s.Recordings, s.Scripts}
	}
	return vectors, nil
}
