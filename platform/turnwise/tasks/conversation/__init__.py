"""Task in which workers talk with a chatbot and judge its replies."""
