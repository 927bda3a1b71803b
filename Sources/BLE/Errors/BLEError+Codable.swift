/// Stored and sent as an object with the names of the properties. Unknown properties are omitted. A cause that is not a
/// `BLEError` is written as its text, and read as an error with the code `failed`.
extension BLEError: Codable {
    private enum CodingKeys: CodingKey {
        case code, message, attError, stackErrorName, peripheral, service, characteristic, missingUUIDs,
            disconnectReason
        case isRetryable, mayHaveReachedPeripheral, remedy, cause
    }

    /// Reads an error. Its ``code`` equals the one that was written, and carries the facts of the error: whether
    /// this error is retryable, not what is usual for the code.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: key)
        }
        let isRetryable: Bool? = try value(.isRetryable)
        // An error of an earlier version does not say whether the peripheral was reached.
        let code = Code(
            try container.decode(String.self, forKey: .code), isRetryable: isRetryable ?? false,
            mayHaveReachedPeripheral: try value(.mayHaveReachedPeripheral) ?? true)
        self.init(
            code, try container.decode(String.self, forKey: .message),
            attError: try value(.attError), stackErrorName: try value(.stackErrorName),
            peripheral: try value(.peripheral), service: try value(.service),
            characteristic: try value(.characteristic), missingUUIDs: try value(.missingUUIDs) ?? [],
            disconnectReason: try value(.disconnectReason), remedy: try value(.remedy))
        if let text = try? container.decodeIfPresent(String.self, forKey: .cause) {
            cause = BLEError(.failed, text)
        } else if container.contains(.cause), try !container.decodeNil(forKey: .cause) {
            cause = try container.decode(BLEError.self, forKey: .cause)
        }
    }

    /// Writes the error.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(attError, forKey: .attError)
        try container.encodeIfPresent(stackErrorName, forKey: .stackErrorName)
        try container.encodeIfPresent(peripheral, forKey: .peripheral)
        try container.encodeIfPresent(service, forKey: .service)
        try container.encodeIfPresent(characteristic, forKey: .characteristic)
        if !missingUUIDs.isEmpty { try container.encode(missingUUIDs, forKey: .missingUUIDs) }
        try container.encodeIfPresent(disconnectReason, forKey: .disconnectReason)
        try container.encode(isRetryable, forKey: .isRetryable)
        try container.encode(mayHaveReachedPeripheral, forKey: .mayHaveReachedPeripheral)
        try container.encodeIfPresent(remedy, forKey: .remedy)
        switch cause {
        case let cause as BLEError: try container.encode(cause, forKey: .cause)
        case let cause?: try container.encode("\(cause)", forKey: .cause)
        case nil: break
        }
    }
}
