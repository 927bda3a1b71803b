/// What is done with the value of an attribute.
public enum AttributeOperation: Hashable, Sendable {
    /// Reading a characteristic's value from an offset to its end.
    case read(offset: Int)
    /// Writing a characteristic's value, or the part of it that begins at an offset.
    case write([UInt8], type: WriteType, offset: Int)
    /// Reading a descriptor's value.
    case readDescriptor
    /// Writing a descriptor's value.
    case writeDescriptor([UInt8])

    /// For messages: `reading`.
    var name: String {
        switch self {
        case .read: "reading"
        case .write: "writing"
        case .readDescriptor: "reading a descriptor"
        case .writeDescriptor: "writing a descriptor"
        }
    }

    /// What it is observed as.
    var kind: OperationKind {
        switch self {
        case .read, .readDescriptor: .read
        case .write, .writeDescriptor: .write
        }
    }

    /// The value that is written.
    var written: [UInt8]? {
        switch self {
        case .read, .readDescriptor: nil
        case .write(let value, _, _), .writeDescriptor(let value): value
        }
    }
}
