/// An interface of an object that this process serves: its methods, properties and signals.
package struct InterfaceDescription: Sendable {
    /// A member of an interface. Types are signatures, one complete type after the other, such as `ou`.
    package enum Member: Sendable {
        case method(String, takes: String = "", returns: String = "")
        case property(String, type: String, isWritable: Bool = false)
        case signal(String, carries: String = "")
    }

    package let name: String
    let members: [Member]

    package init(_ name: String, _ members: Member...) {
        self.name = name
        self.members = members
    }

    /// The types that a method takes; nil if there is no such method.
    func takes(_ method: String) -> String? {
        for case .method(method, let types, _) in members { return types }
        return nil
    }

    /// The names of its methods.
    package var methodNames: [String] {
        members.compactMap { if case .method(let name, _, _) = $0 { name } else { nil } }
    }

    /// Whether a property can be written; nil if there is no such property.
    func property(_ name: String) -> Bool? {
        for case .property(name, _, let isWritable) in members { return isWritable }
        return nil
    }

    /// The declared properties that have a value, in order, as `a{sv}`.
    func properties(_ value: (String) -> DBusValue?) -> DBusValue {
        .orderedDictionary(
            key: "s", value: "v",
            members.compactMap { member in
                guard case .property(let name, _, _) = member, let value = value(name) else { return nil }
                return (.string(name), .variant(value))
            })
    }

    /// The interface in D-Bus's introspection notation.
    package var xml: String {
        let lines = members.map { member in
            switch member {
            case .method(let name, let taken, let returned):
                "<method name=\"\(name)\">\(Self.arguments(taken, "in"))\(Self.arguments(returned, "out"))</method>"
            case .property(let name, let type, let isWritable):
                "<property name=\"\(name)\" type=\"\(type)\" access=\"\(isWritable ? "readwrite" : "read")\"/>"
            case .signal(let name, let carried):
                "<signal name=\"\(name)\">\(Self.arguments(carried, nil))</signal>"
            }
        }
        return "<interface name=\"\(name)\">\(lines.joined())</interface>"
    }

    private static func arguments(_ signature: String, _ direction: String?) -> String {
        completeTypes(in: signature).map { type in
            "<arg type=\"\(type)\"\(direction.map { " direction=\"\($0)\"" } ?? "")/>"
        }.joined()
    }

    /// Splits a signature into its complete types: `oa{sv}(iu)` into `o`, `a{sv}` and `(iu)`.
    static func completeTypes(in signature: String) -> [String] {
        var types: [String] = []
        var type = ""
        var depth = 0
        for character in signature {
            type.append(character)
            switch character {
            case "(", "{": depth += 1
            case ")", "}": depth -= 1
            default: break
            }
            // An array continues with the type of its elements.
            guard depth == 0, character != "a" else { continue }
            types.append(type)
            type = ""
        }
        return types
    }
}
