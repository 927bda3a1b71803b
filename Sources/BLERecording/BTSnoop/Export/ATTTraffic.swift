internal import BLE

/// A PDU of the Attribute Protocol on a link of a central.
struct ATTPDU {
    var bytes: [UInt8]
    /// Whether the central sent it.
    var isSent: Bool

    static func sent(_ opcode: UInt8, _ numbers: UInt16..., value: some Sequence<UInt8> = [UInt8]()) -> ATTPDU {
        ATTPDU(bytes: bytes(opcode, numbers, value), isSent: true)
    }

    static func received(_ opcode: UInt8, _ numbers: UInt16..., value: some Sequence<UInt8> = [UInt8]()) -> ATTPDU {
        ATTPDU(bytes: bytes(opcode, numbers, value), isSent: false)
    }

    /// The error response to a request.
    static func failure(of opcode: UInt8, handle: UInt16, _ error: ATTError) -> ATTPDU {
        var bytes = [ATTOpcode.errorResponse, opcode]
        bytes.append16(handle)
        return ATTPDU(bytes: bytes + [error.rawValue], isSent: false)
    }

    private static func bytes(_ opcode: UInt8, _ numbers: [UInt16], _ value: some Sequence<UInt8>) -> [UInt8] {
        var bytes = [opcode]
        for number in numbers { bytes.append16(number) }
        return bytes + value
    }
}

/// The PDUs of a read or a write.
struct ATTTraffic {
    /// How it ended.
    enum Outcome {
        case success([UInt8])
        case failure(ATTError)
        /// There was no response.
        case unknown
    }

    /// The ATT MTU, in bytes, at least 23.
    let mtu: Int
    let outcome: Outcome

    /// A value longer than a response is read in parts.
    func read(_ handle: UInt16, offset: Int) -> [ATTPDU] {
        let opcode = offset == 0 ? ATTOpcode.read : ATTOpcode.readBlob
        func request(_ position: Int) -> ATTPDU {
            position == 0
                ? .sent(ATTOpcode.read, handle)
                : .sent(ATTOpcode.readBlob, handle, UInt16(truncatingIfNeeded: position))
        }
        switch outcome {
        case .unknown: return [request(offset)]
        case .failure(let error): return [request(offset), .failure(of: opcode, handle: handle, error)]
        case .success(let value):
            var pdus: [ATTPDU] = []
            var rest = value.prefix(0x10000 - offset)
            var position = offset
            while true {
                let part = rest.prefix(mtu - 1)
                let opcode = position == 0 ? ATTOpcode.read : ATTOpcode.readBlob
                pdus += [request(position), .received(ATTOpcode.response(to: opcode), value: part)]
                rest = rest.dropFirst(part.count)
                position += part.count
                // A full response may have been a part.
                guard part.count == mtu - 1 else { return pdus }
            }
        }
    }

    /// A value that is longer than a request, written from an offset, or written reliably, is prepared in parts.
    func write(_ value: [UInt8], to handle: UInt16, offset: Int, isReliable: Bool) -> [ATTPDU] {
        guard isReliable || offset > 0 || value.count > mtu - 3 else {
            let request = ATTPDU.sent(ATTOpcode.write, handle, value: value)
            switch outcome {
            case .unknown: return [request]
            case .failure(let error): return [request, .failure(of: ATTOpcode.write, handle: handle, error)]
            case .success: return [request, .received(ATTOpcode.response(to: ATTOpcode.write))]
            }
        }
        // An offset has 16 bits.
        let value = value.prefix(0x10000 - offset)
        var pdus: [ATTPDU] = []
        var position = 0
        repeat {
            let part = value[position..<min(position + mtu - 5, value.count)]
            let start = UInt16(truncatingIfNeeded: offset + position)
            pdus.append(.sent(ATTOpcode.prepareWrite, handle, start, value: part))
            pdus.append(.received(ATTOpcode.response(to: ATTOpcode.prepareWrite), handle, start, value: part))
            position += part.count
        } while position < value.count
        pdus.append(.sent(ATTOpcode.executeWrite, value: [1]))
        switch outcome {
        case .unknown: break
        case .failure(let error): pdus.append(.failure(of: ATTOpcode.executeWrite, handle: handle, error))
        case .success: pdus.append(.received(ATTOpcode.response(to: ATTOpcode.executeWrite)))
        }
        return pdus
    }
}
