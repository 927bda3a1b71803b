internal import Foundation

/// The same message in plain code with Foundation, appending to and slicing `Data`. The codec is compared with it.
struct NaiveMessage {
    enum MessageType: UInt8 {
        case request = 1
        case reply, notification
    }

    enum DecodingError: Error {
        case invalidLength, invalidType, invalidFlag
    }

    var type: MessageType
    var command: UInt16
    var encrypted: Bool
    var payload: Data

    init(type: MessageType, command: UInt16, encrypted: Bool, payload: Data) {
        self.type = type
        self.command = command
        self.encrypted = encrypted
        self.payload = payload
    }

    init(_ data: Data) throws {
        guard data.count >= 5, data[data.startIndex] == data.count else { throw DecodingError.invalidLength }
        let header = data.prefix(5)
        guard let type = MessageType(rawValue: header[header.startIndex + 1]) else { throw DecodingError.invalidType }
        let command = header.subdata(in: header.startIndex + 2..<header.startIndex + 4)
        let flag = header[header.startIndex + 4]
        guard flag <= 1 else { throw DecodingError.invalidFlag }
        self.type = type
        self.command = command.reduce(0) { $0 << 8 | UInt16($1) }
        encrypted = flag == 1
        payload = data.subdata(in: data.startIndex + 5..<data.endIndex)
    }

    func encoded() -> Data {
        var data = Data()
        data.append(UInt8(5 + payload.count))
        data.append(type.rawValue)
        withUnsafeBytes(of: command.bigEndian) { data.append(contentsOf: $0) }
        data.append(encrypted ? 1 : 0)
        data.append(payload)
        return data
    }
}
