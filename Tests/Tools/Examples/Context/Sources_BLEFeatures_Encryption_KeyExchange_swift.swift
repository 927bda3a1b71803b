private let derivation: KeyDerivation = given()
private func send(_ message: [UInt8]) async throws -> [UInt8] { given() }
