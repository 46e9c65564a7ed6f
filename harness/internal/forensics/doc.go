// Package forensics answers: what is in the keys of a delayed queue?
//
// It reads only, in calls that are short however long the queue is, and says of each
// member which side of Redisson 3.21.1 packed it (Content), what either side's scripts
// make of it (Read), and what its value is as people read it (Text). A Reader
// walks the timeout set in order of due time and the pending list in order of offers,
// and stays on its way while others offer, transfer and remove.
package forensics
