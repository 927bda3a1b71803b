/// Returns the messages to send, as bytes. Each function throws `.malformed` for a message that no bus accepts.
enum OutgoingMessage {
    private static let wantsNoReply: UInt8 = 1
    private static let doesNotStartService: UInt8 = 2

    /// The offset of the serial number.
    private static let serialOffset = 8

    static func call(_ call: MethodCall, serial: UInt32, wantsReply: Bool = true) throws(DBusError) -> [UInt8] {
        if wantsReply, var message = call.message {
            message.withUnsafeMutableBytes { $0.storeBytes(of: serial, toByteOffset: serialOffset, as: UInt32.self) }
            return message
        }
        let header = MessageHeader(
            path: call.path, interface: call.interface, member: call.method, destination: call.destination,
            descriptorCount: call.descriptors.count)
        let flags = wantsReply ? doesNotStartService : doesNotStartService | wantsNoReply
        return try message(.call, flags, serial, header, call.arguments)
    }

    static func signal(
        _ signal: OutgoingSignal, to destination: String? = nil, serial: UInt32
    ) throws(DBusError) -> [UInt8] {
        let header = MessageHeader(
            path: signal.path, interface: signal.interface, member: signal.name, destination: destination)
        return try message(.signal, wantsNoReply, serial, header, signal.arguments)
    }

    static func answer(_ reply: MethodReply, to caller: Caller, serial: UInt32) throws(DBusError) -> [UInt8] {
        var header = caller.header
        header.descriptorCount = reply.descriptors.count
        return try message(.answer, wantsNoReply, serial, header, reply.values)
    }

    static func error(
        _ name: String, _ text: String, to caller: Caller, serial: UInt32
    ) throws(DBusError) -> [UInt8] {
        var header = caller.header
        header.errorName = name
        return try message(.error, wantsNoReply, serial, header, [.string(text)])
    }

    /// The sender and the serial number of a call.
    struct Caller {
        let name: String
        let serial: UInt32
        let wantsNoReply: Bool

        init(of call: IncomingMessage) {
            (name, serial, wantsNoReply) = (call.sender.string, call.serial, call.wantsNoReply)
        }

        fileprivate var header: MessageHeader { MessageHeader(replySerial: serial, destination: name) }
    }

    private static func message(
        _ kind: IncomingMessage.Kind, _ flags: UInt8, _ serial: UInt32, _ header: MessageHeader, _ body: [DBusValue]
    ) throws(DBusError) -> [UInt8] {
        var header = header
        for value in body { header.signature += value.signature }
        var writer = MessageWriter()
        try writer.begin(kind, flags: flags, serial: serial, header)
        let start = writer.bytes.count
        for value in body { try writer.append(value) }
        return try writer.finish(bodyAt: start)
    }
}

/// `PropertiesChanged` for one property of bytes: a message of which only the serial number and the bytes change.
struct BytesChangedMessage: Sendable {
    /// The message up to the bytes.
    private let start: [UInt8]
    private let bodyStart: Int
    /// The positions of the lengths.
    private let dictionaryLength: Int
    private let bytesLength: Int

    /// - Parameter destination: the only receiver; nil for all that have subscribed.
    init(path: String, interface: String, property: String, destination: String? = nil) throws(DBusError) {
        var writer = MessageWriter()
        let header = MessageHeader(
            path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
            destination: destination, signature: "sa{sv}as")
        try writer.begin(.signal, flags: 1, serial: 0, header)
        bodyStart = writer.bytes.count
        try writer.append(text: interface)
        writer.append(UInt32(0))
        dictionaryLength = writer.bytes.count - 4
        writer.align(to: 8)
        try writer.append(text: property)
        try writer.append(signature: "ay")
        writer.append(UInt32(0))
        bytesLength = writer.bytes.count - 4
        start = writer.bytes
    }

    /// Returns the signal with the property's new bytes, of which there are at most `UInt16.max`.
    func message(_ value: [UInt8], serial: UInt32) -> [UInt8] {
        let end = start.count + value.count
        // An empty array of strings follows: the names of properties without a value.
        let count = (end + 3) & ~3 + 4
        return [UInt8](unsafeUninitializedCapacity: count) { space, written in
            let space = UnsafeMutableRawBufferPointer(space)
            space.copyBytes(from: start)
            UnsafeMutableRawBufferPointer(rebasing: space[start.count...]).copyBytes(from: value)
            for index in end..<count { space[index] = 0 }
            let dictionary = (dictionaryLength + 4 + 7) & ~7
            space.storeBytes(of: UInt32(count - bodyStart), toByteOffset: 4, as: UInt32.self)
            space.storeBytes(of: serial, toByteOffset: 8, as: UInt32.self)
            space.storeBytes(of: UInt32(end - dictionary), toByteOffset: dictionaryLength, as: UInt32.self)
            space.storeBytes(of: UInt32(value.count), toByteOffset: bytesLength, as: UInt32.self)
            written = count
        }
    }
}
