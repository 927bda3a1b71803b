/// A request or a response: a header, and a CBOR map.
public struct SMPFrame: Hashable, Sendable {
    /// The header.
    public let header: SMPHeader
    /// The fields. Empty if the frame has no data.
    public let fields: CBORMap

    /// Creates a frame. Its length is that of the encoded fields.
    public init(
        _ operation: SMPOperation, _ command: SMPCommand, sequence: UInt8, _ fields: CBORMap = [:],
        version: SMPVersion = .two
    ) {
        self.fields = fields
        data = CBOR.map(fields).encoded()
        header = SMPHeader(operation, command, sequence: sequence, length: data.count, version: version)
    }

    private let data: [UInt8]

    /// Decodes a whole frame, with its header. Throws ``SMPFrameError``.
    public init(decoding bytes: [UInt8]) throws(SMPFrameError) {
        guard let header = SMPHeader(bytes[...]) else { throw .invalidHeader }
        data = Array(bytes.dropFirst(SMPHeader.size))
        guard data.count == header.length else {
            throw .lengthMismatch(declared: header.length, actual: data.count)
        }
        self.header = header
        guard !data.isEmpty else {
            fields = [:]
            return
        }
        let item: CBOR
        do throws(CBORError) {
            item = try CBOR(decoding: data)
        } catch {
            throw .invalidFields(header, error)
        }
        guard case .map(let map) = item else { throw .notMap(header) }
        fields = map
    }

    /// The bytes as sent over the air.
    public var bytes: [UInt8] { header.bytes + data }
}

/// An error in decoding or receiving a frame.
public enum SMPFrameError: Error, Hashable, Sendable {
    /// There are fewer than 8 bytes, or the first one has a reserved bit or an undefined version or operation.
    case invalidHeader
    /// The declared length differs from the number of bytes.
    case lengthMismatch(declared: Int, actual: Int)
    /// The frame is longer than the receiver accepts.
    case tooLong(SMPHeader, maximum: Int)
    /// The data is not CBOR.
    case invalidFields(SMPHeader, CBORError)
    /// The data is not a map.
    case notMap(SMPHeader)

    /// The header of the frame, if it is known.
    public var header: SMPHeader? {
        switch self {
        case .invalidHeader, .lengthMismatch: nil
        case .tooLong(let header, _), .invalidFields(let header, _), .notMap(let header): header
        }
    }
}

extension SMPFrameError: CustomStringConvertible {
    /// A description of the problem.
    public var description: String {
        switch self {
        case .invalidHeader: "the frame has no valid header"
        case .lengthMismatch(let declared, let actual):
            "the frame declares \(declared) bytes of data, but has \(actual)"
        case .tooLong(let header, let maximum):
            "a frame of \(header.length + SMPHeader.size) bytes is longer than the maximum of \(maximum)"
        case .invalidFields(_, let error): "the data is not valid CBOR: \(error)"
        case .notMap: "the data is not a map"
        }
    }
}
