package demo;

/** An enum of fields.json. */
public enum Color {
    RED, GREEN, BLUE
}
