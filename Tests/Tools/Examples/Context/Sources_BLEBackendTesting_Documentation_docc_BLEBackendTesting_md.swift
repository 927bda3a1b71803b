private func MyPeer() async throws -> any ContractPeer { given() }
