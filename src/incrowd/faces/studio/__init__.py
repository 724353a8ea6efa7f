"""The whole job in a browser, on the user's own machine. Every action is a call of the public interface."""
