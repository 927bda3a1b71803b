/// An error in the text of a definition, with its place.
///
/// Foreign text in the message is short, and free of control characters.
public struct DefinitionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the text, such as `services[0].uuid`. Empty if the whole text is meant.
    public let place: String
    /// What is wrong, such as `unknown key; did you mean "uuid"?`.
    public let message: String
    /// The place and the message.
    public var description: String { place.isEmpty ? message : "\(place): \(message)" }

    package init(place: Entry.Place = Entry.Place(), message: String) {
        (self.place, self.message) = (place.description, message)
    }
}
